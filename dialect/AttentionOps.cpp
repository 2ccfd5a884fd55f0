//===- AttentionOps.cpp - Attention, step by step and fused ---------------===//

#include "dialect/Shapes.h"
#include "dialect/TfmDialect.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"
#include <array>

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

LogicalResult RepeatHeadsOp::inferReturnTypes(MLIRContext *context,
                                              std::optional<Location> location,
                                              Adaptor adaptor,
                                              SmallVectorImpl<Type> &inferred) {
  SmallVector<int64_t> shape(shapeOf(adaptor.getInput()));
  int64_t groups = shape[1], count = adaptor.getCount();
  if (!ShapedType::isDynamic(groups) &&
      llvm::MulOverflow(groups, count, shape[1]))
    return emitOptionalError(location,
                             "expects a number of heads below 2^63, "
                             "but got ",
                             groups, " times ", count);
  inferred.push_back(f32Tensor(context, shape));
  return success();
}

OpFoldResult RepeatHeadsOp::fold(FoldAdaptor) {
  return getCount() == 1 && getInput().getType() == getType() ? getInput()
                                                              : Value();
}

//===----------------------------------------------------------------------===//
// Products of matrices
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *context,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &inferred) {
  ArrayRef<int64_t> in = shapeOf(adaptor.getInput());
  inferred.push_back(f32Tensor(context, {in[0], in[1], in[3], in[2]}));
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  auto inner = getInput().getDefiningOp<TransposeOp>();
  return inner && inner.getInput().getType() == getType() ? inner.getInput()
                                                          : Value();
}

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &inferred) {
  ArrayRef<int64_t> lhs = shapeOf(adaptor.getLhs());
  ArrayRef<int64_t> rhs = shapeOf(adaptor.getRhs());
  inferred.push_back(
      f32Tensor(context, {knownDim(lhs[0], rhs[0]), knownDim(lhs[1], rhs[1]),
                          lhs[2], rhs[3]}));
  return success();
}

LogicalResult MatmulOp::verify() {
  ArrayRef<int64_t> lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs());
  if (failed(
          verifyEqualDims(*this, "lhs and rhs", "batch B", lhs[0], rhs[0])) ||
      failed(verifyEqualDims(*this, "lhs and rhs", "number of heads H", lhs[1],
                             rhs[1])))
    return failure();
  return verifyEqualDims(*this, "lhs and rhs", "inner size K", lhs[3], rhs[2]);
}

/// What repeats or transposes the elements before they are scaled, if anything.
static Operation *getScaledRelayout(ScaleOp op) {
  Operation *relayout = op.getInput().getDefiningOp();
  return isa_and_present<RepeatHeadsOp, TransposeOp>(relayout) ? relayout
                                                               : nullptr;
}

/// A product with a transposed matrix compares rows, any other mixes them.
LogicalResult MatmulOp::canonicalize(MatmulOp op, PatternRewriter &rewriter) {
  auto scale = op.getRhs().getDefiningOp<ScaleOp>();
  if (scale && getScaledRelayout(scale))
    return rewriter.notifyMatchFailure(op, "the scale is moved first");
  if (auto transpose = op.getRhs().getDefiningOp<TransposeOp>())
    rewriter.replaceOpWithNewOp<ScoresOp>(op, op.getType(), op.getLhs(),
                                          transpose.getInput());
  else
    rewriter.replaceOpWithNewOp<MixOp>(op, op.getType(), op.getLhs(),
                                       op.getRhs());
  return success();
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

/// Makes an operation read heads instead of their repetition: it groups the
/// query heads in the same way.
static LogicalResult readUnrepeated(OpOperand &heads,
                                    PatternRewriter &rewriter) {
  Operation *op = heads.getOwner();
  auto repeat = heads.get().getDefiningOp<RepeatHeadsOp>();
  if (!repeat)
    return rewriter.notifyMatchFailure(op, "expects repeated heads");
  rewriter.modifyOpInPlace(op, [&] { heads.set(repeat.getInput()); });
  return success();
}

LogicalResult ScoresOp::canonicalize(ScoresOp op, PatternRewriter &rewriter) {
  return readUnrepeated(op.getKeyMutable(), rewriter);
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

/// Scales before elements are repeated or transposed, where `scores` and `mix`
/// see the repetition and the transposition.
LogicalResult ScaleOp::canonicalize(ScaleOp op, PatternRewriter &rewriter) {
  Operation *relayout = getScaledRelayout(op);
  if (!relayout)
    return rewriter.notifyMatchFailure(op,
                                       "expects repeated or transposed heads");
  Operation *scaled = rewriter.clone(*relayout);
  rewriter.setInsertionPoint(scaled);
  scaled->setOperand(0, ScaleOp::create(rewriter, op.getLoc(),
                                        relayout->getOperand(0),
                                        op.getFactorAttr()));
  rewriter.replaceOp(op, scaled);
  return success();
}

LogicalResult AddBiasOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getScores().getType());
  return success();
}

LogicalResult AddBiasOp::verify() {
  return verifyBroadcasts(*this, "bias", shapeOf(getBias()),
                          shapeOf(getScores()));
}

LogicalResult ApplyMaskOp::inferReturnTypes(MLIRContext *context,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getScores().getType());
  return success();
}

LogicalResult ApplyMaskOp::verify() {
  return verifyBroadcasts(*this, "mask", shapeOf(getMask()),
                          shapeOf(getScores()));
}

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getInput().getType());
  return success();
}

LogicalResult DropoutOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getInput().getType());
  return success();
}

LogicalResult DropoutOp::verify() {
  double rate = getRate().convertToFloat();
  if (rate >= 0 && rate < 1)
    return success();
  return emitOpError() << "expects a rate of at least 0 and less than 1, but "
                          "got "
                       << rate;
}

OpFoldResult DropoutOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? getInput() : Value();
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

LogicalResult MixOp::canonicalize(MixOp op, PatternRewriter &rewriter) {
  return readUnrepeated(op.getValueMutable(), rewriter);
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
  const std::array<int64_t, 4> scores = {query[0], query[1], query[2], key[2]};
  if (getMask() &&
      failed(verifyBroadcasts(*this, "mask", shapeOf(getMask()), scores)))
    return failure();
  return success(!getBias() || succeeded(verifyBroadcasts(
                                   *this, "bias", shapeOf(getBias()), scores)));
}
