//===- AttentionOps.cpp - Attention, step by step and fused ---------------===//

#include "dialect/Shapes.h"
#include "dialect/TfmDialect.h"

using namespace mlir;
using namespace mlir::tfm;

static RankedTensorType f32Tensor(MLIRContext *context,
                                  ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, Float32Type::get(context));
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

LogicalResult SplitHeadsOp::inferReturnTypes(MLIRContext *context,
                                             std::optional<Location> location,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &inferred) {
  ArrayRef<int64_t> in = shapeOf(adaptor.getInput());
  int64_t heads = adaptor.getHeads();
  int64_t headSize = ShapedType::isDynamic(in[2]) || heads < 1
                         ? ShapedType::kDynamic
                         : in[2] / heads;
  inferred.push_back(f32Tensor(context, {in[0], heads, in[1], headSize}));
  return success();
}

LogicalResult SplitHeadsOp::verify() {
  int64_t modelSize = lastDim(getInput());
  if (ShapedType::isDynamic(modelSize) ||
      modelSize % static_cast<int64_t>(getHeads()) == 0)
    return success();
  return emitOpError() << "expects the model size E to be a multiple of the "
                          "number of heads, but got "
                       << modelSize << " and " << getHeads();
}

OpFoldResult SplitHeadsOp::fold(FoldAdaptor) {
  auto merge = getInput().getDefiningOp<MergeHeadsOp>();
  return merge && merge.getInput().getType() == getType() ? merge.getInput()
                                                          : Value();
}

LogicalResult MergeHeadsOp::inferReturnTypes(MLIRContext *context,
                                             std::optional<Location> location,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &inferred) {
  ArrayRef<int64_t> in = shapeOf(adaptor.getInput());
  int64_t modelSize =
      ShapedType::isDynamic(in[1]) || ShapedType::isDynamic(in[3])
          ? ShapedType::kDynamic
          : in[1] * in[3];
  inferred.push_back(f32Tensor(context, {in[0], in[2], modelSize}));
  return success();
}

OpFoldResult MergeHeadsOp::fold(FoldAdaptor) {
  auto split = getInput().getDefiningOp<SplitHeadsOp>();
  return split && split.getInput().getType() == getType() ? split.getInput()
                                                          : Value();
}

//===----------------------------------------------------------------------===//
// The textbook form
//===----------------------------------------------------------------------===//

LogicalResult ScoresOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &inferred) {
  ArrayRef<int64_t> query = shapeOf(adaptor.getQuery());
  ArrayRef<int64_t> key = shapeOf(adaptor.getKey());
  inferred.push_back(f32Tensor(
      context, {knownDim(query[0], key[0]), query[1], query[2], key[2]}));
  return success();
}

LogicalResult ScoresOp::verify() {
  ArrayRef<int64_t> query = shapeOf(getQuery()), key = shapeOf(getKey());
  if (failed(verifyEqualDims(*this, "query and key", "batch B", query[0],
                             key[0])) ||
      failed(verifyEqualDims(*this, "query and key", "head size D", query[3],
                             key[3])))
    return failure();
  return verifyGroupedHeads(*this, query[1], key[1]);
}

LogicalResult ScaleOp::inferReturnTypes(MLIRContext *context,
                                        std::optional<Location> location,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getInput().getType());
  return success();
}

OpFoldResult ScaleOp::fold(FoldAdaptor) {
  return getFactor().isExactlyValue(1.0) ? getInput() : Value();
}

LogicalResult ApplyMaskOp::inferReturnTypes(MLIRContext *context,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getScores().getType());
  return success();
}

LogicalResult ApplyMaskOp::verify() {
  return verifyMaskBroadcasts(*this, shapeOf(getMask()), shapeOf(getScores()));
}

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getInput().getType());
  return success();
}

LogicalResult MixOp::inferReturnTypes(MLIRContext *context,
                                      std::optional<Location> location,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &inferred) {
  ArrayRef<int64_t> probabilities = shapeOf(adaptor.getProbabilities());
  ArrayRef<int64_t> value = shapeOf(adaptor.getValue());
  inferred.push_back(
      f32Tensor(context, {knownDim(probabilities[0], value[0]),
                          probabilities[1], probabilities[2], value[3]}));
  return success();
}

LogicalResult MixOp::verify() {
  ArrayRef<int64_t> probabilities = shapeOf(getProbabilities());
  ArrayRef<int64_t> value = shapeOf(getValue());
  if (failed(verifyEqualDims(*this, "probabilities and value", "batch B",
                             probabilities[0], value[0])) ||
      failed(verifyEqualDims(*this, "probabilities and value", "length T",
                             probabilities[3], value[2])))
    return failure();
  return verifyGroupedHeads(*this, probabilities[1], value[1]);
}

//===----------------------------------------------------------------------===//
// The fused form
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *context,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &inferred) {
  ArrayRef<int64_t> query = shapeOf(adaptor.getQuery());
  ArrayRef<int64_t> value = shapeOf(adaptor.getValue());
  inferred.push_back(f32Tensor(
      context, {knownDim(query[0], value[0]), query[1], query[2], value[3]}));
  return success();
}

LogicalResult AttentionOp::verify() {
  ArrayRef<int64_t> query = shapeOf(getQuery()), key = shapeOf(getKey()),
                    value = shapeOf(getValue());
  if (failed(verifyEqualDims(*this, "query and key", "batch B", query[0],
                             key[0])) ||
      failed(verifyEqualDims(*this, "key and value", "batch B", key[0],
                             value[0])) ||
      failed(verifyEqualDims(*this, "query and key", "head size D", query[3],
                             key[3])) ||
      failed(verifyEqualDims(*this, "key and value", "length T", key[2],
                             value[2])) ||
      failed(verifyEqualDims(*this, "key and value", "number of heads G",
                             key[1], value[1])) ||
      failed(verifyGroupedHeads(*this, query[1], key[1])))
    return failure();
  if (!getMask())
    return success();
  return verifyMaskBroadcasts(*this, shapeOf(getMask()),
                              {query[0], query[1], query[2], key[2]});
}
