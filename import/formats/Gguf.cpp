//===- Gguf.cpp - GGUF files: keys and tensors ----------------------------===//
//
// The parser runs once over everything but the tensors' elements and notes
// where values stand. Every length is compared with the bytes that are left
// before it is used, so that work and memory stay proportional to the file.
//
//===----------------------------------------------------------------------===//

#include "import/formats/Gguf.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/LogicalResult.h"
#include "llvm/Support/MathExtras.h"
#include <charconv>

using namespace llvm;
using namespace mlir::tfm;
namespace endian = llvm::support::endian;

namespace {
/// Elements of a tensor are stored in blocks along the innermost dimension.
struct TypeLayout {
  uint32_t number;
  const char *name;
  uint32_t blockSize;
  uint32_t blockBytes;
};
} // namespace

/// ggml's `type_traits` (ggml.c); numbers that are left out were withdrawn.
static constexpr TypeLayout kTypes[] = {
    {0, "f32", 1, 4},         {1, "f16", 1, 2},
    {2, "q4_0", 32, 18},      {3, "q4_1", 32, 20},
    {6, "q5_0", 32, 22},      {7, "q5_1", 32, 24},
    {8, "q8_0", 32, 34},      {9, "q8_1", 32, 36},
    {10, "q2_K", 256, 84},    {11, "q3_K", 256, 110},
    {12, "q4_K", 256, 144},   {13, "q5_K", 256, 176},
    {14, "q6_K", 256, 210},   {15, "q8_K", 256, 292},
    {16, "iq2_xxs", 256, 66}, {17, "iq2_xs", 256, 74},
    {18, "iq3_xxs", 256, 98}, {19, "iq1_s", 256, 50},
    {20, "iq4_nl", 32, 18},   {21, "iq3_s", 256, 110},
    {22, "iq2_s", 256, 82},   {23, "iq4_xs", 256, 136},
    {24, "i8", 1, 1},         {25, "i16", 1, 2},
    {26, "i32", 1, 4},        {27, "i64", 1, 8},
    {28, "f64", 1, 8},        {29, "iq1_m", 256, 56},
    {30, "bf16", 1, 2},       {34, "tq1_0", 256, 54},
    {35, "tq2_0", 256, 66},   {39, "mxfp4", 32, 17},
};

static const TypeLayout *findLayout(GgmlType type) {
  const auto *found = find_if(kTypes, [&](const TypeLayout &layout) {
    return layout.number == static_cast<uint32_t>(type);
  });
  return found == std::end(kTypes) ? nullptr : found;
}

std::string mlir::tfm::getName(GgmlType type) {
  if (const TypeLayout *layout = findLayout(type))
    return layout->name;
  return ("type " + Twine(static_cast<uint32_t>(type))).str();
}

/// Bytes of a value, or the fewest that it may take.
static uint64_t getMinBytes(GgufValueType type) {
  switch (type) {
  case GgufValueType::U8:
  case GgufValueType::I8:
  case GgufValueType::Bool:
    return 1;
  case GgufValueType::U16:
  case GgufValueType::I16:
    return 2;
  case GgufValueType::U32:
  case GgufValueType::I32:
  case GgufValueType::F32:
    return 4;
  case GgufValueType::U64:
  case GgufValueType::I64:
  case GgufValueType::F64:
  case GgufValueType::String:
    return 8;
  case GgufValueType::Array:
    return 12;
  }
  llvm_unreachable("checked by the parser");
}

static bool isIntType(GgufValueType type) {
  switch (type) {
  case GgufValueType::F32:
  case GgufValueType::F64:
  case GgufValueType::Bool:
  case GgufValueType::String:
  case GgufValueType::Array:
    return false;
  default:
    return true;
  }
}

static bool isFloatType(GgufValueType type) {
  return type == GgufValueType::F32 || type == GgufValueType::F64;
}

/// An integer of any width, or nothing if it is 2^63 or more.
static std::optional<int64_t> readInt(GgufValueType type, const char *bytes) {
  switch (type) {
  case GgufValueType::U8:
    return static_cast<uint8_t>(*bytes);
  case GgufValueType::I8:
    return static_cast<int8_t>(*bytes);
  case GgufValueType::U16:
    return endian::read16le(bytes);
  case GgufValueType::I16:
    return static_cast<int16_t>(endian::read16le(bytes));
  case GgufValueType::U32:
    return endian::read32le(bytes);
  case GgufValueType::I32:
    return static_cast<int32_t>(endian::read32le(bytes));
  case GgufValueType::U64:
    if (uint64_t value = endian::read64le(bytes); isUInt<63>(value))
      return value;
    return std::nullopt;
  default:
    return static_cast<int64_t>(endian::read64le(bytes));
  }
}

static double readFloat(GgufValueType type, const char *bytes) {
  if (type == GgufValueType::F32)
    return bit_cast<float>(endian::read32le(bytes));
  return bit_cast<double>(endian::read64le(bytes));
}

/// The shortest text that says no other number of the type.
static std::string describeFloat(double number, GgufValueType type) {
  char text[32]; // at most 24 characters for a double
  char *end = std::end(text);
  end = type == GgufValueType::F32
            ? std::to_chars(text, end, static_cast<float>(number)).ptr
            : std::to_chars(text, end, number).ptr;
  return std::string(text, end);
}

static StringRef describe(GgufValueType type, bool plural = false) {
  if (isIntType(type))
    return plural ? "integers" : "an integer";
  if (isFloatType(type))
    return plural ? "floats" : "a float";
  if (type == GgufValueType::Bool)
    return plural ? "booleans" : "a boolean";
  if (type == GgufValueType::String)
    return plural ? "strings" : "a string";
  return plural ? "arrays" : "an array";
}

std::string mlir::tfm::quote(StringRef bytes) {
  constexpr size_t kMaxShown = 80;
  std::string quoted;
  raw_string_ostream os(quoted);
  os << '"';
  printEscapedString(bytes.take_front(kMaxShown), os);
  os << (bytes.size() > kMaxShown ? "..." : "") << '"';
  return quoted;
}

static Error makeError(std::optional<uint64_t> offset, const Twine &message) {
  std::string place;
  if (offset)
    place = "offset " + std::to_string(*offset) + ": ";
  return createStringError(place + message);
}

//===----------------------------------------------------------------------===//
// Parser
//===----------------------------------------------------------------------===//

namespace mlir::tfm {
/// Fills a `GgufFile` from its buffer, and stops at the first failure.
class GgufParser {
public:
  explicit GgufParser(GgufFile &file)
      : file(file), bytes(file.buffer->getBuffer()) {}

  Error parse();

private:
  LogicalResult parseFile();
  LogicalResult parseHeader(uint64_t &tensorCount, uint64_t &keyCount);
  LogicalResult parseKey();
  /// Reads a value of the type that `value` has already.
  LogicalResult parseValue(GgufValue &value, int depth);
  LogicalResult parseTensor();
  LogicalResult readAlignment();
  LogicalResult placeTensors();
  LogicalResult placeTensor(GgufTensor &tensor, uint64_t dataOffset,
                            uint64_t &end);

  /// Moves on by the `count` bytes that `what` takes.
  LogicalResult skip(uint64_t count, const Twine &what);
  template <typename T> LogicalResult read(T &value, const char *what);
  LogicalResult readType(GgufValueType &type, const char *what);
  LogicalResult readString(StringRef &string, const char *what);
  /// Refuses a count of things of at least `minBytes` that cannot be there.
  LogicalResult checkCount(uint64_t count, uint64_t minBytes,
                           const char *things);
  LogicalResult fail(uint64_t at, const Twine &text);

  GgufFile &file;
  StringRef bytes;
  uint64_t offset = 0;
  uint64_t alignment = 32;
  /// The key or tensor being read, as the beginning of messages.
  std::string subject;
  std::optional<Error> error;
};
} // namespace mlir::tfm

Error GgufParser::parse() {
  if (failed(parseFile()))
    return std::move(*error);
  return Error::success();
}

LogicalResult GgufParser::fail(uint64_t at, const Twine &text) {
  error = makeError(at, subject + text);
  return failure();
}

LogicalResult GgufParser::skip(uint64_t count, const Twine &what) {
  uint64_t rest = bytes.size() - offset;
  if (count > rest)
    return fail(offset, "expects " + what + " of " + Twine(count) +
                            " bytes, but got only " + Twine(rest));
  offset += count;
  return success();
}

template <typename T>
LogicalResult GgufParser::read(T &value, const char *what) {
  if (failed(skip(sizeof(T), what)))
    return failure();
  value =
      endian::read<T, endianness::little>(bytes.data() + offset - sizeof(T));
  return success();
}

LogicalResult GgufParser::readType(GgufValueType &type, const char *what) {
  uint32_t number;
  if (failed(read(number, what)))
    return failure();
  type = static_cast<GgufValueType>(number);
  if (type > GgufValueType::F64)
    return fail(offset - 4, "expects " + Twine(what) +
                                " from 0 to 12, but got " + Twine(number));
  return success();
}

LogicalResult GgufParser::readString(StringRef &string, const char *what) {
  uint64_t length;
  if (failed(read(length, "a string's length")) || failed(skip(length, what)))
    return failure();
  string = bytes.substr(offset - length, length);
  return success();
}

LogicalResult GgufParser::checkCount(uint64_t count, uint64_t minBytes,
                                     const char *things) {
  uint64_t most = (bytes.size() - offset) / minBytes;
  if (count <= most)
    return success();
  return fail(offset, "expects " + Twine(count) + " " + things +
                          ", but got bytes for at most " + Twine(most));
}

LogicalResult GgufParser::parseFile() {
  uint64_t tensorCount, keyCount;
  if (failed(parseHeader(tensorCount, keyCount)))
    return failure();
  for (uint64_t i = 0; i != keyCount; ++i)
    if (failed(parseKey()))
      return failure();
  // A tensor is at least a name's length, a rank, a dimension, a type and an
  // offset.
  if (failed(readAlignment()) || failed(checkCount(tensorCount, 32, "tensors")))
    return failure();
  for (uint64_t i = 0; i != tensorCount; ++i)
    if (failed(parseTensor()))
      return failure();
  return placeTensors();
}

LogicalResult GgufParser::parseHeader(uint64_t &tensorCount,
                                      uint64_t &keyCount) {
  if (bytes.empty())
    return fail(0, "expects a GGUF file, but got an empty file");
  if (bytes.starts_with("version https://git-lfs.github.com/"))
    return fail(0, "expects a GGUF file, but got a Git LFS pointer to one: the "
                   "file itself is still to be fetched");
  StringRef magic = bytes.take_front(4);
  if (magic != "GGUF")
    return fail(0, "expects a GGUF file, which starts with \"GGUF\", but got " +
                       quote(magic));
  offset = 4;

  uint32_t version;
  if (failed(read(version, "a version")))
    return failure();
  if (version > 0 && (version & 0xffff) == 0)
    return fail(4, "expects a little-endian file, but got a big-endian one");
  if (version != 2 && version != 3)
    return fail(4, "expects GGUF version 2 or 3, but got " + Twine(version));

  // A key is at least a name's length, a type and a value.
  if (failed(read(tensorCount, "a number of tensors")) ||
      failed(read(keyCount, "a number of keys")) ||
      failed(checkCount(keyCount, 13, "keys")))
    return failure();
  return success();
}

LogicalResult GgufParser::parseKey() {
  uint64_t begin = offset;
  StringRef key;
  subject.clear();
  if (failed(readString(key, "a key")))
    return failure();
  subject = "key " + quote(key) + ": ";
  GgufFile::Entry entry = {.offset = begin};
  if (failed(readType(entry.value.type, "a value type")) ||
      failed(parseValue(entry.value, /*depth=*/0)))
    return failure();
  auto [other, isNew] = file.entries.insert({key, entry});
  if (!isNew)
    return fail(begin, "expects each key once, but got it at offset " +
                           Twine(other->second.offset) + " too");
  return success();
}

LogicalResult GgufParser::parseValue(GgufValue &value, int depth) {
  value.offset = offset;

  if (value.type == GgufValueType::String) {
    StringRef string;
    if (failed(readString(string, "a string")))
      return failure();
    value.count = string.size();
    value.offset = offset - string.size();
    return success();
  }

  if (value.type != GgufValueType::Array) {
    if (failed(skip(getMinBytes(value.type), "a value")))
      return failure();
    unsigned first = static_cast<uint8_t>(bytes[value.offset]);
    if (value.type == GgufValueType::Bool && first > 1)
      return fail(value.offset,
                  "expects a boolean of 0 or 1, but got " + Twine(first));
    return success();
  }

  constexpr int kMaxDepth = 4;
  if (depth == kMaxDepth)
    return fail(offset, "expects arrays at most " + Twine(kMaxDepth) +
                            " deep, but got deeper ones");
  if (failed(readType(value.elementType, "an element type")) ||
      failed(read(value.count, "an array's length")) ||
      failed(
          checkCount(value.count, getMinBytes(value.elementType), "elements")))
    return failure();
  value.offset = offset;
  if (value.elementType != GgufValueType::String &&
      value.elementType != GgufValueType::Array)
    return skip(value.count * getMinBytes(value.elementType), "an array");
  for (uint64_t i = 0; i != value.count; ++i) {
    GgufValue element = {.type = value.elementType};
    if (failed(parseValue(element, depth + 1)))
      return failure();
  }
  return success();
}

LogicalResult GgufParser::readAlignment() {
  constexpr StringLiteral key = "general.alignment";
  constexpr int64_t kMaxAlignment = 1 << 16;
  subject.clear();
  Expected<int64_t> found = file.getInt(key, alignment);
  if (!found) {
    error = found.takeError();
    return failure();
  }
  if (*found < 8 || *found > kMaxAlignment || !isPowerOf2_64(*found)) {
    error = file.keyError(key, "expects a power of two from 8 to " +
                                   Twine(kMaxAlignment) + ", but got " +
                                   Twine(*found));
    return failure();
  }
  alignment = *found;
  return success();
}

LogicalResult GgufParser::parseTensor() {
  uint64_t begin = offset;
  StringRef name;
  subject.clear();
  if (failed(readString(name, "a tensor's name")))
    return failure();
  subject = "tensor " + quote(name) + ": ";

  uint32_t rank;
  if (failed(read(rank, "a number of dimensions")))
    return failure();
  if (rank < 1 || rank > 4)
    return fail(offset - 4,
                "expects 1 to 4 dimensions, but got " + Twine(rank));

  GgufTensor tensor;
  uint64_t elements = 1;
  for (uint32_t i = 0; i != rank; ++i) {
    uint64_t dim;
    if (failed(read(dim, "a dimension")))
      return failure();
    if (dim == 0)
      return fail(offset - 8, "expects dimensions of at least 1, but got 0");
    bool overflows;
    elements = SaturatingMultiply(elements, dim, &overflows);
    if (overflows || !isUInt<63>(elements))
      return fail(offset - 8, "expects fewer than 2^63 elements, but got more");
    tensor.dims.push_back(dim);
  }

  uint32_t type;
  if (failed(read(type, "a type")) || failed(read(tensor.offset, "an offset")))
    return failure();
  tensor.type = static_cast<GgmlType>(type);
  tensor.infoOffset = begin;
  auto [other, isNew] = file.tensors.insert({name, tensor});
  if (!isNew)
    return fail(begin, "expects each tensor once, but got it at offset " +
                           Twine(other->second.infoOffset) + " too");
  return success();
}

LogicalResult GgufParser::placeTensors() {
  struct Range {
    uint64_t begin, end;
    StringRef name;
  };
  std::vector<Range> ranges;
  uint64_t dataOffset = alignTo(offset, alignment);
  for (auto &[name, tensor] : file.tensors) {
    subject = "tensor " + quote(name) + ": ";
    uint64_t end;
    if (failed(placeTensor(tensor, dataOffset, end)))
      return failure();
    ranges.push_back({tensor.offset, end, name});
  }

  sort(ranges, [](const Range &lhs, const Range &rhs) {
    return std::tie(lhs.begin, lhs.end) < std::tie(rhs.begin, rhs.end);
  });
  for (size_t i = 1; i < ranges.size(); ++i) {
    const Range &last = ranges[i - 1], &next = ranges[i];
    subject = "tensor " + quote(next.name) + ": ";
    if (next.begin < last.end)
      return fail(next.begin, "expects bytes of its own, but tensor " +
                                  quote(last.name) + " ends at offset " +
                                  Twine(last.end));
  }
  return success();
}

LogicalResult GgufParser::placeTensor(GgufTensor &tensor, uint64_t dataOffset,
                                      uint64_t &end) {
  if (tensor.offset % alignment != 0)
    return fail(tensor.infoOffset, "expects an offset that is a multiple of " +
                                       Twine(alignment) + ", but got " +
                                       Twine(tensor.offset));

  uint64_t size = 0;
  if (const TypeLayout *layout = findLayout(tensor.type)) {
    if (tensor.dims.front() % layout->blockSize != 0)
      return fail(tensor.infoOffset,
                  "expects an innermost dimension that is a multiple of the " +
                      Twine(layout->blockSize) + " elements in a block of " +
                      layout->name + ", but got " + Twine(tensor.dims.front()));
    uint64_t elements = 1;
    for (int64_t dim : tensor.dims)
      elements *= dim;
    size = SaturatingMultiply<uint64_t>(elements / layout->blockSize,
                                        layout->blockBytes);
  }

  uint64_t begin = SaturatingAdd(dataOffset, tensor.offset);
  end = SaturatingAdd(begin, size);
  if (end > bytes.size())
    return fail(tensor.infoOffset, "expects " + Twine(size) +
                                       " bytes from offset " + Twine(begin) +
                                       " on, but the file ends at " +
                                       Twine(bytes.size()));
  tensor.offset = begin;
  return success();
}

//===----------------------------------------------------------------------===//
// File
//===----------------------------------------------------------------------===//

Expected<GgufFile> GgufFile::open(StringRef path) {
  // Opening a pipe would wait for its other end.
  sys::fs::file_status status;
  if (std::error_code code = sys::fs::status(path, status))
    return makeError({}, "cannot be read: " + Twine(code.message()));
  if (status.type() == sys::fs::file_type::directory_file)
    return makeError({}, "expects a GGUF file, but got a directory");
  if (status.type() != sys::fs::file_type::regular_file)
    return makeError({}, "expects a GGUF file, but got a pipe or a device");

  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(
      path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return makeError({}, "cannot be read: " + buffer.getError().message());
  return parse(std::move(*buffer), path);
}

Expected<GgufFile> GgufFile::parse(std::unique_ptr<MemoryBuffer> bytes,
                                   StringRef path) {
  GgufFile file;
  file.path = path;
  file.buffer = std::move(bytes);
  if (Error error = GgufParser(file).parse())
    return std::move(error);
  return std::move(file);
}

Error GgufFile::keyError(StringRef key, const Twine &message) const {
  const auto *entry = entries.find(key);
  std::optional<uint64_t> offset;
  if (entry != entries.end())
    offset = entry->second.offset;
  return makeError(offset, "key " + quote(key) + ": " + message);
}

Error GgufFile::tensorError(StringRef name, const Twine &message) const {
  const auto *tensor = tensors.find(name);
  std::optional<uint64_t> offset;
  if (tensor != tensors.end())
    offset = tensor->second.infoOffset;
  return makeError(offset, "tensor " + quote(name) + ": " + message);
}

Error GgufFile::unknownKeyError(StringRef key) {
  return keyError(key, "expects no such key, since it is not supported, but "
                       "got " +
                           *describeValue(key));
}

const GgufValue *GgufFile::find(StringRef key) {
  auto *entry = entries.find(key);
  if (entry == entries.end())
    return nullptr;
  entry->second.used = true;
  return &entry->second.value;
}

Expected<const GgufValue *> GgufFile::find(StringRef key,
                                           bool (*isWanted)(const GgufValue &),
                                           const char *wanted,
                                           bool hasFallback) {
  const GgufValue *value = find(key);
  if (value ? isWanted(*value) : hasFallback)
    return value;
  return keyError(key, "expects " + Twine(wanted) + ", but got " +
                           (value ? *describeValue(key) : "no such key"));
}

Expected<int64_t> GgufFile::getInt(StringRef key,
                                   std::optional<int64_t> fallback) {
  Expected<const GgufValue *> value = find(
      key, [](const GgufValue &value) { return isIntType(value.type); },
      "an integer", fallback.has_value());
  if (!value)
    return value.takeError();
  if (!*value)
    return *fallback;
  if (auto number = readInt((*value)->type, at((*value)->offset)))
    return *number;
  return keyError(key, "expects an integer below 2^63, but got more");
}

Expected<double> GgufFile::getFloat(StringRef key,
                                    std::optional<double> fallback) {
  Expected<const GgufValue *> value = find(
      key, [](const GgufValue &value) { return isFloatType(value.type); },
      "a float", fallback.has_value());
  if (!value)
    return value.takeError();
  return *value ? readFloat((*value)->type, at((*value)->offset)) : *fallback;
}

Expected<bool> GgufFile::getBool(StringRef key, std::optional<bool> fallback) {
  Expected<const GgufValue *> value = find(
      key,
      [](const GgufValue &value) { return value.type == GgufValueType::Bool; },
      "a boolean", fallback.has_value());
  if (!value)
    return value.takeError();
  return *value ? *at((*value)->offset) != 0 : *fallback;
}

Expected<StringRef> GgufFile::getString(StringRef key,
                                        std::optional<StringRef> fallback) {
  Expected<const GgufValue *> value = find(
      key,
      [](const GgufValue &value) {
        return value.type == GgufValueType::String;
      },
      "a string", fallback.has_value());
  if (!value)
    return value.takeError();
  return *value ? StringRef(at((*value)->offset), (*value)->count) : *fallback;
}

Expected<std::vector<int64_t>> GgufFile::getInts(StringRef key) {
  Expected<const GgufValue *> value = find(
      key,
      [](const GgufValue &value) {
        return value.type == GgufValueType::Array &&
               isIntType(value.elementType);
      },
      "an array of integers", /*hasFallback=*/false);
  if (!value)
    return value.takeError();
  std::vector<int64_t> numbers;
  numbers.reserve((*value)->count);
  const char *next = at((*value)->offset);
  for (uint64_t i = 0; i != (*value)->count; ++i) {
    auto number = readInt((*value)->elementType, next);
    if (!number)
      return keyError(key, "expects integers below 2^63, but got more");
    numbers.push_back(*number);
    next += getMinBytes((*value)->elementType);
  }
  return numbers;
}

Expected<std::vector<StringRef>> GgufFile::getStrings(StringRef key) {
  Expected<const GgufValue *> value = find(
      key,
      [](const GgufValue &value) {
        return value.type == GgufValueType::Array &&
               value.elementType == GgufValueType::String;
      },
      "an array of strings", /*hasFallback=*/false);
  if (!value)
    return value.takeError();
  std::vector<StringRef> strings;
  strings.reserve((*value)->count);
  const char *next = at((*value)->offset);
  for (uint64_t i = 0; i != (*value)->count; ++i) {
    uint64_t length = endian::read64le(next);
    strings.emplace_back(next + 8, length);
    next += 8 + length;
  }
  return strings;
}

std::optional<std::string> GgufFile::describeValue(StringRef key) {
  const GgufValue *value = find(key);
  if (!value)
    return std::nullopt;
  if (value->type == GgufValueType::String)
    return quote(StringRef(at(value->offset), value->count));
  if (value->type == GgufValueType::Array)
    return formatv("{0} {1}", value->count,
                   describe(value->elementType, /*plural=*/true));
  if (value->type == GgufValueType::Bool)
    return *at(value->offset) ? "true" : "false";
  if (isFloatType(value->type))
    return describeFloat(readFloat(value->type, at(value->offset)),
                         value->type);
  if (auto number = readInt(value->type, at(value->offset)))
    return std::to_string(*number);
  return "an integer of 2^63 or more";
}

Error GgufFile::checkNeutral(StringRef key, StringRef neutral) {
  std::optional<std::string> value = describeValue(key);
  if (!value || *value == neutral)
    return Error::success();
  return keyError(key, "expects " + neutral +
                           ", since nothing else is supported, but got " +
                           *value);
}

SmallVector<StringRef> GgufFile::getUnusedKeys() const {
  SmallVector<StringRef> keys;
  for (const auto &[key, entry] : entries)
    if (!entry.used)
      keys.push_back(key);
  return keys;
}
