//===- NormOps.cpp - Normalisation ----------------------------------------===//

#include "dialect/Shapes.h"
#include "dialect/TfmDialect.h"

using namespace mlir;
using namespace mlir::tfm;

LogicalResult RmsNormOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getInput().getType());
  return success();
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *context,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getInput().getType());
  return success();
}

LogicalResult LayerNormOp::verify() {
  if (failed(verifyEqualDims(*this, "input and gain", "model size E",
                             lastDim(getInput()), lastDim(getGain()))))
    return failure();
  if (!getBias())
    return success();
  return verifyEqualDims(*this, "input and bias", "model size E",
                         lastDim(getInput()), lastDim(getBias()));
}

LogicalResult L2NormalizeOp::inferReturnTypes(MLIRContext *context,
                                              std::optional<Location> location,
                                              Adaptor adaptor,
                                              SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getInput().getType());
  return success();
}

LogicalResult PoolOp::inferReturnTypes(MLIRContext *context,
                                       std::optional<Location> location,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &inferred) {
  ArrayRef<int64_t> shape = shapeOf(adaptor.getInput());
  inferred.push_back(
      RankedTensorType::get({shape[0], shape[2]}, Float32Type::get(context)));
  return success();
}

LogicalResult RmsNormOp::verify() {
  return verifyEqualDims(*this, "input and gain", "model size E",
                         lastDim(getInput()), lastDim(getGain()));
}
