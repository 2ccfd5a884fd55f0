//===- Interpreter.h - The reference interpreter ----------------*- C++ -*-===//
//
// Runs IR of the stages graph, fused, kernels and planned, slowly and clearly,
// to say what it means. Sums, softmax and functions of one element are computed
// in f64 and rounded to f32 once, but for `quantized_linear`, which adds its
// blocks in f32 as it documents.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_DIALECT_INTERP_INTERPRETER_H
#define TFM_DIALECT_INTERP_INTERPRETER_H

#include "dialect/Weights.h"
#include "dialect/interp/Values.h"
#include "mlir/IR/BuiltinOps.h"
#include <functional>

namespace mlir::tfm {

/// Runs functions and kernels of one module. Not thread-safe.
class Interpreter {
public:
  /// The module outlives the interpreter and does not change meanwhile.
  explicit Interpreter(ModuleOp module) : module(module) {}

  /// Runs the `func.func` or `tfm.kernel` called `name` and returns its
  /// results. Buffers and caches among the arguments are updated in place. What
  /// goes wrong is reported at the operation where it does.
  FailureOr<SmallVector<RuntimeValue>> run(StringRef name,
                                           ArrayRef<RuntimeValue> arguments);

  /// The same for a function that is at hand.
  FailureOr<SmallVector<RuntimeValue>> run(FunctionOpInterface function,
                                           ArrayRef<RuntimeValue> arguments);

  /// Calls `observer` before each launch, with the kernel's arguments, whose
  /// elements may change afterwards.
  using LaunchObserver =
      std::function<void(LaunchOp, ArrayRef<RuntimeValue> arguments)>;
  void observeLaunches(LaunchObserver observer) {
    launchObserver = std::move(observer);
  }
  void notifyLaunch(LaunchOp launch, ArrayRef<RuntimeValue> arguments) {
    if (launchObserver)
      launchObserver(launch, arguments);
  }

  /// What the symbol `name` says, as seen from `user`, or null.
  template <typename OpTy> OpTy lookup(Operation *user, SymbolRefAttr name) {
    return symbols.lookupNearestSymbolFrom<OpTy>(user, name);
  }

  /// The elements of a weight, read or packed once.
  FailureOr<Array> load(WeightOp weight);

private:
  FailureOr<Array> read(WeightOp weight);

  ModuleOp module;
  SymbolTableCollection symbols;
  WeightReader reader;
  DenseMap<Operation *, Array> weights;
  LaunchObserver launchObserver;
  unsigned depth = 0;
};

} // namespace mlir::tfm

#endif // TFM_DIALECT_INTERP_INTERPRETER_H
