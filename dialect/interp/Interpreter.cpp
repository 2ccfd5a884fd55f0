//===- Interpreter.cpp - Calls of functions and kernels -------------------===//

#include "dialect/interp/Interpreter.h"

#include "dialect/interp/Frame.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::tfm;

/// Calls inside calls that fit the stack comfortably.
static constexpr unsigned kMaxDepth = 256;

FailureOr<SmallVector<RuntimeValue>>
Interpreter::run(StringRef name, ArrayRef<RuntimeValue> arguments) {
  auto function = dyn_cast_or_null<FunctionOpInterface>(
      symbols.getSymbolTable(module).lookup(name));
  if (!function)
    return module.emitError() << "expects a function @" << name;
  return run(function, arguments);
}

FailureOr<SmallVector<RuntimeValue>>
Interpreter::run(FunctionOpInterface function,
                 ArrayRef<RuntimeValue> arguments) {
  if (function.isExternal())
    return function.emitError() << "expects a body of @" << function.getName();
  if (arguments.size() != function.getNumArguments())
    return function.emitError()
           << "expects " << function.getNumArguments() << " arguments of @"
           << function.getName() << ", but got " << arguments.size();
  if (depth == kMaxDepth)
    return function.emitError()
           << "expects calls to nest at most " << kMaxDepth << " deep";
  llvm::SaveAndRestore nest(depth, depth + 1);

  Frame frame(*this);
  for (auto [argument, content] :
       llvm::zip_equal(function.getArguments(), arguments))
    if (failed(frame.set(function, argument, content)))
      return failure();
  return frame.run(function.getFunctionBody().front());
}
