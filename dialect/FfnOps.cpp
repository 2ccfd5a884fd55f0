//===- FfnOps.cpp - Linear maps and the feed-forward network --------------===//

#include "dialect/Shapes.h"
#include "dialect/TfmDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::tfm;

LogicalResult LinearOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &inferred) {
  inferred.push_back(
      withLastDim(adaptor.getInput(), shapeOf(adaptor.getWeight())[0]));
  return success();
}

LogicalResult LinearOp::verify() {
  ArrayRef<int64_t> weight = shapeOf(getWeight());
  if (failed(verifyEqualDims(*this, "input and weight", "inner size K",
                             lastDim(getInput()), weight[1])))
    return failure();
  if (!getBias())
    return success();
  return verifyEqualDims(*this, "weight and bias", "outer size N", weight[0],
                         lastDim(getBias()));
}

LogicalResult ActivationOp::inferReturnTypes(MLIRContext *context,
                                             std::optional<Location> location,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getInput().getType());
  return success();
}

LogicalResult AddOp::inferReturnTypes(MLIRContext *context,
                                      std::optional<Location> location,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getLhs().getType());
  return success();
}

LogicalResult MulOp::inferReturnTypes(MLIRContext *context,
                                      std::optional<Location> location,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getLhs().getType());
  return success();
}

LogicalResult AddVectorOp::inferReturnTypes(MLIRContext *context,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getInput().getType());
  return success();
}

LogicalResult AddVectorOp::verify() {
  return verifyEqualDims(*this, "input and vector", "size E",
                         lastDim(getInput()), lastDim(getVector()));
}

LogicalResult FfnOp::inferReturnTypes(MLIRContext *context,
                                      std::optional<Location> location,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &inferred) {
  inferred.push_back(
      withLastDim(adaptor.getInput(), shapeOf(adaptor.getDown())[0]));
  return success();
}

LogicalResult FfnOp::verify() {
  ArrayRef<int64_t> up = shapeOf(getUp()), down = shapeOf(getDown());
  if (failed(verifyEqualDims(*this, "input and up", "model size E",
                             lastDim(getInput()), up[1])) ||
      failed(verifyEqualDims(*this, "up and down", "feed-forward size F", up[0],
                             down[1])))
    return failure();
  auto verifyBias = [&](StringRef names, Value map, Value bias) {
    return !bias ? success()
                 : verifyEqualDims(*this, names, "outer size", shapeOf(map)[0],
                                   lastDim(bias));
  };
  if (failed(verifyBias("up and its bias", getUp(), getUpBias())) ||
      failed(verifyBias("down and its bias", getDown(), getDownBias())))
    return failure();
  if (!getGate()) {
    if (getGateBias())
      return emitOpError("expects a gate, but got only its bias");
    return success();
  }
  ArrayRef<int64_t> gate = shapeOf(getGate());
  if (failed(verifyEqualDims(*this, "up and gate", "feed-forward size F", up[0],
                             gate[0])) ||
      failed(verifyEqualDims(*this, "up and gate", "model size E", up[1],
                             gate[1])))
    return failure();
  return verifyBias("gate and its bias", getGate(), getGateBias());
}

Value FfnOp::expand(OpBuilder &builder) {
  auto linear = [&](Value input, Value weight, Value bias) -> Value {
    return LinearOp::create(builder, getLoc(), input, weight, bias);
  };
  auto activate = [&](Value input) -> Value {
    return ActivationOp::create(builder, getLoc(), getKind(), input);
  };
  if (!getGate())
    return linear(activate(linear(getInput(), getUp(), getUpBias())), getDown(),
                  getDownBias());
  Value gate = activate(linear(getInput(), getGate(), getGateBias()));
  Value up = linear(getInput(), getUp(), getUpBias());
  return linear(MulOp::create(builder, getLoc(), gate, up), getDown(),
                getDownBias());
}
