//===- FuseAttention.cpp - One operation for attention --------------------===//
//
// Expects the textbook form, or its spelling as products of matrices:
// mix(softmax(... scores(q, k) ...), v) with scales, biases and masks in
// between. Promises the same probabilities up to the order of the
// multiplications. Leaves alone what Passes.td lists, and says why.
//
//===----------------------------------------------------------------------===//

#include "dialect/Shapes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/CausalMask.h"
#include "passes/Dims.h"
#include "passes/Passes.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

namespace mlir::tfm {
#define GEN_PASS_DEF_FUSEATTENTIONPASS
#include "passes/Passes.h.inc"
} // namespace mlir::tfm

using namespace mlir;
using namespace mlir::tfm;

/// The scores that `value` is made of by scales, biases and masks, if any.
static ScoresOp findScores(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto scores = dyn_cast<ScoresOp>(op))
      return scores;
    if (!isa<ScaleOp, AddBiasOp, ApplyMaskOp>(op))
      break;
    value = op->getOperand(0);
  }
  return {};
}

/// Finds scales of the query or the key that can as well be factors of the
/// scores: between them and the scores is what commutes with a factor.
static void findScales(Value operand, SmallVectorImpl<ScaleOp> &scales) {
  while (Operation *op = operand.getDefiningOp()) {
    if (!isa<ScaleOp, SplitHeadsOp, RopeOp>(op) || !op->hasOneUse())
      return;
    if (auto scale = dyn_cast<ScaleOp>(op))
      scales.push_back(scale);
    operand = op->getOperand(0);
  }
}

namespace {
/// Follows a mix back to its scores.
class Matcher {
public:
  Matcher(MixOp mix, SoftmaxOp softmax) : mix(mix), softmax(softmax) {}

  /// Fails, with a remark that says why, if the mix is not that of an attention
  /// that can be fused.
  LogicalResult match() {
    if (!softmax->hasOneUse())
      return decline(softmax, "the probabilities have other uses");
    if (failed(matchChain()) || failed(matchMasks()))
      return failure();
    findScales(scores.getQuery(), operandScales);
    findScales(scores.getKey(), operandScales);
    for (ScaleOp op : operandScales)
      scale *= op.getFactor().convertToFloat();
    if (!std::isfinite(scale))
      return decline(mix, "the product of the scales is not finite");
    if (!areEqualDims({scores.getKey(), 1}, {mix.getValue(), 1}))
      return decline(mix, "key and value may have different numbers of heads");
    return success();
  }

  void rewrite(RewriterBase &rewriter) {
    for (ScaleOp op : operandScales)
      rewriter.replaceOp(op, op.getInput());
    rewriter.setInsertionPoint(mix);
    if (bias && biasScale != 1.0f)
      bias = ScaleOp::create(rewriter, mix.getLoc(), bias,
                             rewriter.getF32FloatAttr(biasScale));
    Value mask;
    for (Value other : otherMasks)
      mask =
          mask ? MaskAndOp::create(rewriter, mix.getLoc(), mask, other) : other;
    rewriter.replaceOpWithNewOp<AttentionOp>(
        mix, mix.getType(), scores.getQuery(), scores.getKey(), mix.getValue(),
        mask, bias, rewriter.getF32FloatAttr(scale),
        isCausal ? rewriter.getUnitAttr() : UnitAttr(),
        window ? rewriter.getI64IntegerAttr(*window) : IntegerAttr());
  }

  /// Masks that say t <= s or |s − t| < W, but not provably over S and T.
  ArrayRef<Operation *> getUnproved() const { return unproved; }

private:
  LogicalResult decline(Operation *op, const Twine &reason) {
    InFlightDiagnostic remark = mix.emitRemark("attention left unfused: ")
                                << reason;
    if (op != mix)
      remark.attachNote(op->getLoc()) << "see here";
    return failure();
  }

  /// From the softmax back to the scores.
  LogicalResult matchChain() {
    Value value = softmax.getInput();
    while (true) {
      Operation *op = value.getDefiningOp();
      if (!isa_and_present<ScoresOp, ScaleOp, AddBiasOp, AddOp, ApplyMaskOp>(
              op))
        return decline(op ? op : softmax,
                       "expects scores, scale, add_bias, add or apply_mask "
                       "before the softmax");
      if (!op->hasOneUse())
        return decline(op, "the result of '" + op->getName().getStringRef() +
                               "' has other uses");
      if ((scores = dyn_cast<ScoresOp>(op)))
        return success();
      value = op->getOperand(0);
      if (auto factor = dyn_cast<ScaleOp>(op)) {
        scale *= factor.getFactor().convertToFloat();
        continue;
      }
      // What is masked is at −infinity, and only such a factor leaves it there.
      if (!(scale > 0))
        return decline(op, "the scale after a mask or bias is not greater "
                           "than 0");
      Value added = op->getOperand(1);
      if (isa<ApplyMaskOp>(op)) {
        masks.push_back(added);
        continue;
      }
      if (bias)
        return decline(op, "there are two biases");
      if (isa<AddOp>(op) && !findScores(value))
        std::swap(value, added);
      bias = added;
      biasScale = scale;
    }
  }

  /// Splits the masks into what is causal, windows, and others.
  LogicalResult matchMasks() {
    for (Value operand : masks) {
      // A mask is taken apart only where there is something to take out.
      SmallVector<Value> parts = getParts(operand);
      size_t count = parts.size();
      llvm::erase_if(parts, [&](Value part) { return takeMask(part); });
      if (parts.size() == count)
        otherMasks.insert(operand);
      else
        otherMasks.insert_range(parts);
    }
    SmallVector<int64_t> shape(4, 1);
    for (Value other : otherMasks)
      for (auto [dim, own] : llvm::zip_equal(shape, shapeOf(other))) {
        std::optional<int64_t> both = broadcastDims(dim, own);
        if (!both)
          return decline(mix, "two masks have different shapes");
        dim = *both;
      }
    return success();
  }

  /// The masks that a mask is the `mask_and` of.
  static SmallVector<Value> getParts(Value mask) {
    SmallVector<Value> parts;
    llvm::SetVector<Value> all;
    all.insert(mask);
    for (size_t i = 0; i != all.size(); ++i)
      if (auto both = all[i].getDefiningOp<MaskAndOp>())
        all.insert_range(both.getOperands());
      else
        parts.push_back(all[i]);
    return parts;
  }

  /// Makes `causal` or `window` of a mask that says so.
  bool takeMask(Value mask) {
    Operation *op = mask.getDefiningOp();
    if (isCausalMask(mask, scores.getQuery(), scores.getKey())) {
      isCausal = true;
      return true;
    }
    auto near = dyn_cast_if_present<WindowMaskOp>(op);
    if (near && hasLengthsOfScores(mask, scores.getQuery(), scores.getKey())) {
      isCausal |= near.getCausal();
      window = std::min(window.value_or(near.getWindow()), near.getWindow());
      return true;
    }
    if (isa_and_present<CausalMaskOp, WindowMaskOp, tensor::GenerateOp>(op))
      unproved.push_back(op);
    return false;
  }

  MixOp mix;
  SoftmaxOp softmax;
  ScoresOp scores;
  /// The product of all factors, and of those that the bias is multiplied by.
  float scale = 1.0f, biasScale = 1.0f;
  SmallVector<ScaleOp> operandScales;
  SmallVector<Value> masks;
  llvm::SetVector<Value> otherMasks;
  SmallVector<Operation *> unproved;
  Value bias;
  bool isCausal = false;
  std::optional<uint64_t> window;
};

struct FuseAttentionPass : tfm::impl::FuseAttentionPassBase<FuseAttentionPass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    MatmulOp::getCanonicalizationPatterns(set, context);
    MixOp::getCanonicalizationPatterns(set, context);
    ScaleOp::getCanonicalizationPatterns(set, context);
    ScoresOp::getCanonicalizationPatterns(set, context);
    canonicalForms = std::move(set);
    return success();
  }

  void runOnOperation() override {
    // Products of matrices, and repeated heads, become the textbook form.
    if (failed(applyPatternsGreedily(getOperation(), canonicalForms)))
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    SmallVector<MixOp> mixes;
    llvm::SetVector<Operation *> unproved;
    getOperation().walk([&](MixOp op) { mixes.push_back(op); });
    for (MixOp mix : mixes) {
      auto softmax = mix.getProbabilities().getDefiningOp<SoftmaxOp>();
      if (!softmax)
        continue;
      Matcher matcher(mix, softmax);
      if (failed(matcher.match()))
        continue;
      matcher.rewrite(rewriter);
      ++numFused;
      unproved.insert_range(matcher.getUnproved());
    }
    for (Operation *mask : unproved)
      mask->emitRemark("stays a mask: it is not provably ")
          << (isa<WindowMaskOp>(mask) ? "a window" : "t <= s")
          << " over the lengths S and T of the scores";
    // Again for what only dead regions read, until nothing is dead.
    while (succeeded(runRegionDCE(rewriter, getOperation()->getRegions())))
      ;
  }

  FrozenRewritePatternSet canonicalForms;
};
} // namespace
