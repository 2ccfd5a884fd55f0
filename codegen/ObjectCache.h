//===- ObjectCache.h - Kernels that were compiled before --------*- C++ -*-===//
//
// A folder of object files, each under a hash of what it was made from: the
// kernel's source form, the target, and the compiler itself.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_CODEGEN_OBJECTCACHE_H
#define TFM_CODEGEN_OBJECTCACHE_H

#include "mlir/Support/LLVM.h"
#include <optional>
#include <string>
#include <vector>

namespace mlir::tfm {

/// Safe to use from several threads, and by several processes on one folder:
/// files appear whole under their final name, and one that was changed since is
/// not found. A folder that cannot be read is the same as an empty one.
class ObjectCache {
public:
  /// An empty `folder` means no cache.
  explicit ObjectCache(std::string folder) : folder(std::move(folder)) {}

  /// The folder of `TFM_CACHE_DIR`, or `tfm` in that of `XDG_CACHE_HOME`, or
  /// `~/.cache/tfm`; empty if none of them is set.
  static std::string getDefaultFolder();

  /// A name, fit for a symbol, for what `source` says under this compiler.
  static std::string getKey(StringRef source);

  std::optional<std::vector<char>> find(StringRef key) const;

  /// Keeps an object. An error leaves the folder as it was.
  std::error_code insert(StringRef key, ArrayRef<char> object) const;

  const std::string &getFolder() const { return folder; }

private:
  std::string folder;
};

} // namespace mlir::tfm

#endif // TFM_CODEGEN_OBJECTCACHE_H
