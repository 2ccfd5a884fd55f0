//===- ObjectCache.cpp - Kernels that were compiled before ----------------===//

#include "codegen/ObjectCache.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::tfm;

/// What follows the object in its file, so that one that was cut or changed is
/// known. Tools that read objects don't look past their end.
static SmallString<16> getTrailer(StringRef object) {
  auto digest = llvm::BLAKE3::hash<16>(llvm::arrayRefFromStringRef(object));
  return llvm::toStringRef(digest);
}

std::string ObjectCache::getDefaultFolder() {
  auto inFolderOf = [](const char *variable, StringRef below) {
    const char *folder = std::getenv(variable);
    if (!folder || !*folder)
      return std::string();
    SmallString<128> path(folder);
    llvm::sys::path::append(path, below);
    return path.str().str();
  };
  for (auto [variable, below] :
       {std::pair<const char *, StringRef>{"TFM_CACHE_DIR", ""},
        {"XDG_CACHE_HOME", "tfm"},
        {"HOME", ".cache/tfm"}})
    if (std::string folder = inFolderOf(variable, below); !folder.empty())
      return folder;
  return "";
}

/// A hash of the running program, so that another compiler makes other keys.
static StringRef getCompilerHash() {
  static const std::string hash = [] {
    auto program = llvm::MemoryBuffer::getFile(
        "/proc/self/exe", /*IsText=*/false, /*RequiresNullTerminator=*/false);
    llvm::BLAKE3 hasher;
    if (program)
      hasher.update((*program)->getBuffer());
    return llvm::toHex(hasher.final<16>());
  }();
  return hash;
}

std::string ObjectCache::getKey(StringRef source) {
  llvm::BLAKE3 hasher;
  hasher.update(getCompilerHash());
  hasher.update(source);
  return "tfm_kernel_" + llvm::toHex(hasher.final<16>(), /*LowerCase=*/true);
}

std::optional<std::vector<char>> ObjectCache::find(StringRef key) const {
  if (folder.empty())
    return std::nullopt;
  auto file = llvm::MemoryBuffer::getFile(folder + "/" + key + ".o",
                                          /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return std::nullopt;
  StringRef bytes = (*file)->getBuffer();
  size_t trailerSize = getTrailer("").size();
  if (bytes.size() < trailerSize)
    return std::nullopt;
  StringRef object = bytes.drop_back(trailerSize);
  if (bytes.take_back(trailerSize) != getTrailer(object))
    return std::nullopt;
  return std::vector<char>(object.begin(), object.end());
}

std::error_code ObjectCache::insert(StringRef key,
                                    ArrayRef<char> object) const {
  if (folder.empty())
    return {};
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    return error;
  int descriptor;
  SmallString<128> partial;
  if (std::error_code error = llvm::sys::fs::createUniqueFile(
          folder + "/" + key + ".%%%%%%.part", descriptor, partial))
    return error;
  llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  os.write(object.data(), object.size());
  os << getTrailer(StringRef(object.data(), object.size()));
  os.close();
  std::error_code error = os.error();
  os.clear_error();
  if (!error)
    error = llvm::sys::fs::rename(partial, folder + "/" + key + ".o");
  if (error)
    llvm::sys::fs::remove(partial);
  return error;
}
