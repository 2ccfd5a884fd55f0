//===- EmbeddingOps.cpp - Tokens and positions ----------------------------===//

#include "dialect/Shapes.h"
#include "dialect/TfmDialect.h"

using namespace mlir;
using namespace mlir::tfm;

LogicalResult EmbedOp::inferReturnTypes(MLIRContext *context,
                                        std::optional<Location> location,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &inferred) {
  SmallVector<int64_t> shape(shapeOf(adaptor.getTokens()));
  shape.push_back(lastDim(adaptor.getTable()));
  inferred.push_back(RankedTensorType::get(shape, Float32Type::get(context)));
  return success();
}

LogicalResult EmbedPositionsOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &inferred) {
  SmallVector<int64_t> shape(shapeOf(adaptor.getTokens()));
  shape.push_back(lastDim(adaptor.getTable()));
  inferred.push_back(RankedTensorType::get(shape, Float32Type::get(context)));
  return success();
}

LogicalResult EmbedPositionsOp::verify() {
  int64_t positions = shapeOf(getTable())[0], start = getStart();
  if (start < 0 || (!ShapedType::isDynamic(positions) && start >= positions))
    return emitOpError() << "expects start to be at least 0 and less than the "
                            "table's T, but got "
                         << start << " and T = " << positions;
  if (getOffsets())
    return verifyEqualDims(*this, "tokens and offsets", "batch B",
                           shapeOf(getTokens())[0], shapeOf(getOffsets())[0]);
  return success();
}

LogicalResult RopeOp::inferReturnTypes(MLIRContext *context,
                                       std::optional<Location> location,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getInput().getType());
  return success();
}

LogicalResult RopeOp::verify() {
  int64_t headSize = lastDim(getInput()), dims = getDims();
  if (dims < 2 || dims % 2 != 0 ||
      (!ShapedType::isDynamic(headSize) && dims > headSize))
    return emitOpError() << "expects an even number of dims from 2 to the head "
                            "size D, but got "
                         << dims << " and D = " << headSize;
  if (!(getTheta().convertToDouble() > 0))
    return emitOpError() << "expects theta to be greater than 0, but got "
                         << getTheta().convertToDouble();
  if (getOffsets())
    return verifyEqualDims(*this, "input and offsets", "batch B",
                           shapeOf(getInput())[0], shapeOf(getOffsets())[0]);
  return success();
}
