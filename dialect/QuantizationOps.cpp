//===- QuantizationOps.cpp - Integer products -----------------------------===//

#include "dialect/Shapes.h"
#include "dialect/TfmDialect.h"

using namespace mlir;
using namespace mlir::tfm;

/// Blocks in a row of `size` elements.
static int64_t blocksIn(int64_t size) {
  return ShapedType::isDynamic(size) ? size : size / BlockType::kBlockSize;
}

LogicalResult QuantizeOp::inferReturnTypes(MLIRContext *context,
                                           std::optional<Location> location,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &inferred) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  RankedTensorType perBlock =
      withLastDim(adaptor.getInput(), blocksIn(input.getShape().back()));
  inferred.append(
      {input.clone(IntegerType::get(context, 8)), perBlock, perBlock});
  return success();
}

LogicalResult QuantizeOp::verify() {
  int64_t size = lastDim(getInput());
  if (ShapedType::isDynamic(size) || size % BlockType::kBlockSize == 0)
    return success();
  return emitOpError() << "expects the row size K to be a multiple of "
                       << BlockType::kBlockSize << ", but got " << size;
}

LogicalResult QuantizedLinearOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &inferred) {
  inferred.push_back(
      withLastDim(adaptor.getScales(), shapeOf(adaptor.getWeight())[0]));
  return success();
}

LogicalResult QuantizedLinearOp::verify() {
  int64_t size = lastDim(getQuants());
  if (failed(verifyEqualDims(*this, "quants and weight", "inner size K", size,
                             shapeOf(getWeight())[1])))
    return failure();
  for (Value perBlock : {getScales(), getSums()})
    if (failed(verifyEqualDims(*this, "a row of K/32 blocks and its scales",
                               "length", blocksIn(size), lastDim(perBlock))))
      return failure();
  return success();
}
