//===- Compiler.h - From planned IR to a program ----------------*- C++ -*-===//
//
// Kernels to objects, host code to an object, weights to a section, and all of
// them to one file.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_CODEGEN_COMPILER_H
#define TFM_CODEGEN_COMPILER_H

#include "codegen/halide/InstructionSet.h"
#include "codegen/llvm/Executable.h"
#include "dialect/TfmDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <functional>

namespace mlir::tfm {

struct CompileOptions {
  /// What kernels are compiled for, the best first.
  SmallVector<InstructionSet> targets;
  LinkedForm form = LinkedForm::Executable;
  std::string output;
  /// Where compiled kernels are kept; empty to keep none.
  std::string cacheFolder;
  /// Where libtfm_runtime.a and libtfm_main.a are.
  std::string runtimeFolder;
  /// Bytes of a resource (tokenizer, chat template), from its file.
  std::function<FailureOr<std::string>(ResourceOp)> readResource;
  /// How many kernels are compiled at a time.
  unsigned threads = 1;
  /// Gets a line per kernel and per step; may be null.
  raw_ostream *progress = nullptr;
  /// Asked after each step: true ends the compilation with failure, the reason
  /// for which whoever says so has reported.
  std::function<bool()> mustStop;
  /// Sees the passes to host code before they run.
  std::function<void(PassManager &)> instrument;
};

/// Compiles a planned module to `options.output`, which appears whole or not at
/// all. Lowers `module` on the way. Reports what is wrong at the operation that
/// it is about.
LogicalResult compileModel(ModuleOp module, const CompileOptions &options);

/// The plan of memory: arenas, cache, weights and their peak, each as a formula
/// and as its value for one sample and the whole context; one line each.
std::string getSummary(ModuleOp planned);

} // namespace mlir::tfm

#endif // TFM_CODEGEN_COMPILER_H
