//===- Launcher.h - Calls a kernel for its tiles ----------------*- C++ -*-===//
//
// A launcher is a function of host code that describes the buffers of one kind
// of launch to a kernel, claims tiles and calls the kernel for each.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_CODEGEN_LLVM_LAUNCHER_H
#define TFM_CODEGEN_LLVM_LAUNCHER_H

#include "dialect/TfmDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::tfm {

/// Makes the launchers of a module, one per kernel, operand types and tile.
class Launchers {
public:
  /// New functions are added to the end of `module`.
  explicit Launchers(ModuleOp module);

  /// The launcher for launches like `launch`. Its parameters are worker, call
  /// and the number of the launch, then for each input and each out
  ///
  /// - a memref: its pointer, its unknown sizes, its unknown strides;
  /// - an index: itself;
  /// - a cache: its `tfm_cache`.
  LLVM::LLVMFuncOp get(LaunchOp launch);

  /// The function (worker, call, launch number, cache, count) that adds `count`
  /// to the lengths of a cache.
  LLVM::LLVMFuncOp getAdvance();

  size_t size() const { return launchers.size(); }

private:
  LLVM::LLVMFuncOp declare(StringRef name, Type result,
                           ArrayRef<Type> parameters);
  LLVM::LLVMFuncOp build(LaunchOp launch, StringRef name);

  ModuleOp module;
  SymbolTable symbols;
  llvm::StringMap<int64_t> kernelIndices;
  llvm::StringMap<LLVM::LLVMFuncOp> launchers;
  LLVM::LLVMFuncOp nextTile, fail, kernelContext, advance;
};

} // namespace mlir::tfm

#endif // TFM_CODEGEN_LLVM_LAUNCHER_H
