//===- Safetensors.cpp - The tensors of a checkpoint ----------------------===//
//
// See Safetensors.h. A file is eight bytes, the length of the header; the
// header, a JSON object of tensors; and the elements. Offsets count from the
// first element.
//
//===----------------------------------------------------------------------===//

#include "import/formats/Safetensors.h"

#include "import/formats/Json.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <nlohmann/json.hpp>

using namespace mlir::tfm;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
using Json = nlohmann::json;

static constexpr StringRef kSingle = "model.safetensors",
                           kIndex = "model.safetensors.index.json";
/// As the reference implementation.
static constexpr uint64_t kLongestHeader = 100'000'000;
static constexpr uint64_t kLengthBytes = 8;

/// Bits of an element, 0 for a dtype that is not known.
static uint64_t bitsOf(StringRef dtype) {
  return llvm::StringSwitch<uint64_t>(dtype)
      .Cases({"F64", "I64", "U64", "C64"}, 64)
      .Cases({"F32", "I32", "U32"}, 32)
      .Cases({"F16", "BF16", "I16", "U16"}, 16)
      .Cases({"I8", "U8", "BOOL", "F8_E4M3", "F8_E5M2", "F8_E8M0"}, 8)
      .Cases({"F6_E2M3", "F6_E3M2"}, 6)
      .Case("F4", 4)
      .Default(0);
}

namespace {
/// Reads one file.
class SafetensorsReader {
public:
  SafetensorsReader(StringRef path, SafetensorsTensors &tensors)
      : path(path), name(llvm::sys::path::filename(path)), tensors(tensors) {}

  Error read();

private:
  Error fail(const Twine &message) const {
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   name + ": " + message);
  }
  Error fail(StringRef tensor, const Twine &message) const {
    return fail("tensor " + describe(Json(tensor.str())) + ": " + message);
  }
  Expected<std::pair<uint64_t, uint64_t>> readOffsets(StringRef tensor,
                                                      const Json &entry);
  Error readTensor(const std::string &tensor, const Json &entry);
  Error checkLayout();

  StringRef path, name;
  SafetensorsTensors &tensors;
  uint64_t start = 0, size = 0; ///< of the elements
  struct Range {
    uint64_t begin, end;
    std::string tensor;
  };
  std::vector<Range> ranges;
};
} // namespace

Error SafetensorsReader::read() {
  constexpr StringRef what = "a safetensors file";
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return fail("cannot be read: " + error.message());
  if (!llvm::sys::fs::is_regular_file(status))
    return fail("expects " + what + ", but got a " +
                (llvm::sys::fs::is_directory(status) ? "directory"
                                                     : "pipe or a device"));
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail("cannot be read: " + buffer.getError().message());
  StringRef bytes = (*buffer)->getBuffer();
  if (bytes.empty())
    return fail("expects " + what + ", but got an empty file");
  if (bytes.starts_with("version https://git-lfs.github.com/"))
    return fail("expects " + what +
                ", but got a Git LFS pointer to one: the "
                "file itself is still to be fetched");
  if (bytes.size() < kLengthBytes)
    return fail("expects " + what + " of at least 8 bytes, but got " +
                Twine(bytes.size()));
  uint64_t length = llvm::support::endian::read64le(bytes.data());
  uint64_t most =
      std::min<uint64_t>(bytes.size() - kLengthBytes, kLongestHeader);
  if (length > most)
    return fail("expects a header of at most " + Twine(most) +
                " bytes, but got one of " + Twine(length));
  start = kLengthBytes + length;
  size = bytes.size() - start;

  Expected<Json> header = parseJson(bytes.substr(kLengthBytes, length));
  if (!header)
    return fail("header: " + llvm::toString(header.takeError()));
  if (!header->is_object())
    return fail("header: expects an object, but got " + describe(*header));
  for (const auto &[tensor, entry] : header->items())
    if (tensor != "__metadata__") // free text
      if (Error error = readTensor(tensor, entry))
        return error;
  return checkLayout();
}

Expected<std::pair<uint64_t, uint64_t>>
SafetensorsReader::readOffsets(StringRef tensor, const Json &entry) {
  auto offsets = entry.find("data_offsets");
  if (offsets == entry.end() || !offsets->is_array() || offsets->size() != 2 ||
      !(*offsets)[0].is_number_unsigned() ||
      !(*offsets)[1].is_number_unsigned())
    return fail(tensor,
                "expects data_offsets of two whole numbers, but got " +
                    describe(offsets == entry.end() ? Json() : *offsets));
  auto begin = (*offsets)[0].get<uint64_t>(),
       end = (*offsets)[1].get<uint64_t>();
  if (begin > end || end > size)
    return fail(tensor, "expects data_offsets in order and up to " +
                            Twine(size) + ", but got " + Twine(begin) +
                            " and " + Twine(end));
  return std::pair(begin, end);
}

Error SafetensorsReader::readTensor(const std::string &tensor,
                                    const Json &entry) {
  if (!entry.is_object())
    return fail(tensor, "expects an object, but got " + describe(entry));
  auto dtype = entry.find("dtype"), shape = entry.find("shape");
  if (dtype == entry.end() || !dtype->is_string())
    return fail(tensor, "expects a dtype");
  if (shape == entry.end() || !shape->is_array())
    return fail(tensor, "expects a shape");
  SafetensorsTensor result;
  result.path = path;
  result.dtype = dtype->get<std::string>();
  int64_t elements = 1;
  for (const Json &dim : *shape) {
    if (!dim.is_number_unsigned() || dim.get<uint64_t>() > INT64_MAX)
      return fail(tensor, "expects a shape of whole numbers, but got " +
                              describe(*shape));
    result.shape.push_back(dim.get<int64_t>());
    std::optional<int64_t> product =
        llvm::checkedMul(elements, result.shape.back());
    if (!product)
      return fail(tensor, "expects a number of elements that 64 bits hold, but "
                          "got shape " +
                              describe(*shape));
    elements = *product;
  }

  auto offsets = readOffsets(tensor, entry);
  if (!offsets)
    return offsets.takeError();
  auto [begin, end] = *offsets;
  if (uint64_t bits = bitsOf(result.dtype)) {
    std::optional<uint64_t> wanted =
        llvm::checkedMulUnsigned<uint64_t>(elements, bits);
    if (!wanted || *wanted != (end - begin) * 8)
      return fail(tensor, "expects as many bytes as shape " + describe(*shape) +
                              " and dtype " + result.dtype + " have, but got " +
                              Twine(end - begin));
  }
  result.offset = start + begin;
  ranges.push_back({begin, end, tensor});
  if (auto [other, isNew] = tensors.insert({tensor, result}); !isNew)
    return fail(tensor, "expects a tensor once, but it is in " +
                            llvm::sys::path::filename(other->second.path) +
                            ", too");
  return Error::success();
}

/// The elements are to be all that follows the header.
Error SafetensorsReader::checkLayout() {
  llvm::sort(ranges, [](const Range &a, const Range &b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t end = 0;
  for (const Range &range : ranges) {
    if (range.begin != end)
      return fail(range.tensor, "expects to start at " + Twine(end) +
                                    ", where the one before it ends, but "
                                    "starts at " +
                                    Twine(range.begin));
    end = range.end;
  }
  if (end != size)
    return fail("expects " + Twine(end) + " bytes of elements, but got " +
                Twine(size));
  return Error::success();
}

Error mlir::tfm::readSafetensors(StringRef path, SafetensorsTensors &tensors) {
  return SafetensorsReader(path, tensors).read();
}

//===----------------------------------------------------------------------===//
// Directories
//===----------------------------------------------------------------------===//

static Error failIndex(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 kIndex + ": " + message);
}

/// Where a file that the index names is, if that is inside of `directory`.
static Expected<std::string> locateShard(StringRef directory, StringRef name) {
  llvm::SmallString<256> path(directory), real, realDirectory;
  llvm::sys::path::append(path, name);
  if (name.empty() || llvm::sys::path::filename(name) != name || name == "..")
    return failIndex("weight_map: expects names of files in the directory, but "
                     "got " +
                     describe(Json(name.str())));
  if (std::error_code error = llvm::sys::fs::real_path(path, real))
    return failIndex("weight_map: " + name +
                     " cannot be read: " + error.message());
  if (std::error_code error =
          llvm::sys::fs::real_path(directory, realDirectory))
    return failIndex("cannot find its directory: " + error.message());
  if (llvm::sys::path::parent_path(real) != realDirectory)
    return failIndex("weight_map: expects files in the directory, but " + name +
                     " is a link to " + real);
  return path.str().str();
}

Expected<SafetensorsTensors>
mlir::tfm::readSafetensorsDirectory(StringRef directory) {
  llvm::SmallString<256> single(directory), indexPath(directory);
  llvm::sys::path::append(single, kSingle);
  llvm::sys::path::append(indexPath, kIndex);
  SafetensorsTensors tensors;
  if (!llvm::sys::fs::exists(indexPath) || llvm::sys::fs::exists(single)) {
    if (Error error = readSafetensors(single, tensors))
      return error;
    return tensors;
  }

  Expected<JsonFile> index = JsonFile::open(indexPath);
  if (!index)
    return index.takeError();
  auto map = index->getRoot().find("weight_map");
  if (map == index->getRoot().end() || !map->is_object())
    return failIndex("weight_map: expects an object that names a file for each "
                     "tensor, but got " +
                     index->describeValue("weight_map"));
  std::map<std::string, std::string> shards; // names and paths
  for (const auto &[tensor, shard] : map->items()) {
    if (!shard.is_string())
      return failIndex("weight_map: " + tensor +
                       ": expects a string, but got " + describe(shard));
    auto name = shard.get<std::string>();
    if (shards.contains(name))
      continue;
    Expected<std::string> path = locateShard(directory, name);
    if (!path)
      return path.takeError();
    shards[name] = *path;
  }
  for (const auto &[name, path] : shards)
    if (Error error = readSafetensors(path, tensors))
      return error;
  for (const auto &[tensor, shard] : map->items()) {
    auto found = tensors.find(tensor);
    if (found == tensors.end() ||
        llvm::sys::path::filename(found->second.path) !=
            shard.get_ref<const std::string &>())
      return failIndex("weight_map: expects tensor " + tensor + " in " +
                       shard.get<std::string>() + ", but it is not there");
  }
  return tensors;
}

Error mlir::tfm::tensorError(const SafetensorsTensors &tensors, StringRef name,
                             const Twine &message) {
  auto found = tensors.find(name.str());
  StringRef file = found == tensors.end()
                       ? kSingle
                       : llvm::sys::path::filename(found->second.path);
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 file + ": tensor \"" + name +
                                     "\": " + message);
}
