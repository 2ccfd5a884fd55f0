//===- Execution.cpp - Functions run, at whatever stage -------------------===//

#include "test/random/Execution.h"

using namespace mlir;
using namespace mlir::tfm;

/// An array that nobody has written: NaN in floats.
static Array makeUnwritten(Type elementType, ArrayRef<int64_t> shape) {
  Array array = Array::zeros(elementType, shape);
  array.poison();
  return array;
}

FailureOr<SmallVector<Array>> Execution::run(func::FuncOp function,
                                             ArrayRef<RuntimeValue> arguments,
                                             ArrayRef<Shape> shapes) {
  SmallVector<RuntimeValue> all(arguments);
  SmallVector<Array> buffers;
  if (auto arena = function->getAttrOfType<ArenaAttr>("tfm.arena")) {
    TypeRange types = function.getArgumentTypes().drop_front(all.size());
    for (auto [type, shape] : llvm::zip_equal(types.drop_back(), shapes)) {
      buffers.push_back(makeUnwritten(getElementTypeOrSelf(type), shape));
      all.push_back(buffers.back());
    }
    const Array &first = std::get<Array>(arguments.front());
    int64_t batch = first.shape[0], length = first.shape[1];
    all.push_back(makeUnwritten(getElementTypeOrSelf(types.back()),
                                arena.getPerRow() * batch * length +
                                    arena.getPerSample() * batch +
                                    arena.getFixed()));
  }
  auto results =
      interpreter.run(cast<FunctionOpInterface>(function.getOperation()), all);
  if (failed(results))
    return failure();
  for (const RuntimeValue &result : *results)
    if (auto *array = std::get_if<Array>(&result))
      buffers.push_back(*array);
  return buffers;
}
