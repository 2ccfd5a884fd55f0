//===- ObjectCache.cpp - Kernels that were compiled before ----------------===//

#include "codegen/ObjectCache.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::tfm;

/// The first bytes of a finished object: a truncated file does not have them
/// and the length right.
static constexpr StringLiteral kElfMagic("\177ELF");

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
  if (!file || !(*file)->getBuffer().starts_with(kElfMagic))
    return std::nullopt;
  StringRef bytes = (*file)->getBuffer();
  return std::vector<char>(bytes.begin(), bytes.end());
}

void ObjectCache::insert(StringRef key, ArrayRef<char> object) const {
  if (folder.empty() || llvm::sys::fs::create_directories(folder))
    return;
  int descriptor;
  SmallString<128> partial;
  if (llvm::sys::fs::createUniqueFile(folder + "/" + key + ".%%%%%%.part",
                                      descriptor, partial))
    return;
  llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  os.write(object.data(), object.size());
  os.close();
  bool failed = os.has_error();
  os.clear_error();
  if (failed || llvm::sys::fs::rename(partial, folder + "/" + key + ".o"))
    llvm::sys::fs::remove(partial);
}
