//===- Execution.h - Functions run, at whatever stage -----------*- C++ -*-===//

#ifndef TFM_TEST_RANDOM_EXECUTION_H
#define TFM_TEST_RANDOM_EXECUTION_H

#include "dialect/interp/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::tfm {

using Shape = SmallVector<int64_t>;

/// Runs functions of one module in the interpreter.
class Execution {
public:
  explicit Execution(ModuleOp module) : module(module), interpreter(module) {}

  func::FuncOp find(StringRef name) {
    return module.lookupSymbol<func::FuncOp>(name);
  }

  /// Runs `function` and returns its tensors, whose shapes the caller knows: a
  /// planned function wants buffers for them, and an arena. Caches among the
  /// arguments are updated.
  FailureOr<SmallVector<Array>> run(func::FuncOp function,
                                    ArrayRef<RuntimeValue> arguments,
                                    ArrayRef<Shape> shapes);

  Interpreter &getInterpreter() { return interpreter; }

private:
  ModuleOp module;
  Interpreter interpreter;
};

} // namespace mlir::tfm

#endif // TFM_TEST_RANDOM_EXECUTION_H
