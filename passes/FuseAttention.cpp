//===- FuseAttention.cpp - One operation for attention --------------------===//
//
// Expects the textbook form: mix(softmax(... scores(q, k) ...), v) with scales
// and masks in between. Promises the same probabilities up to the order of the
// multiplications. Leaves alone what Passes.td lists.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Passes.h"

namespace mlir::tfm {
#define GEN_PASS_DEF_FUSEATTENTIONPASS
#include "passes/Passes.h.inc"
} // namespace mlir::tfm

using namespace mlir;
using namespace mlir::tfm;

namespace {
/// What stands between a softmax and its scores.
struct ScoreChain {
  ScoresOp scores;
  float scale = 1.0f;
  bool causal = false;
  Value mask;
};

struct FuseAttention : OpRewritePattern<MixOp> {
  FuseAttention(MLIRContext *context, Pass::Statistic &numFused)
      : OpRewritePattern(context), numFused(numFused) {}

  LogicalResult matchAndRewrite(MixOp mix,
                                PatternRewriter &rewriter) const override {
    auto softmax = mix.getProbabilities().getDefiningOp<SoftmaxOp>();
    if (!softmax)
      return rewriter.notifyMatchFailure(mix, "expects a softmax before mix");
    if (!softmax->hasOneUse())
      return rewriter.notifyMatchFailure(mix,
                                         "probabilities are used elsewhere");

    FailureOr<ScoreChain> chain = match(softmax.getInput(), mix, rewriter);
    if (failed(chain))
      return failure();
    Value query = takeScale(chain->scores.getQuery(), chain->scale);
    Value key = takeScale(chain->scores.getKey(), chain->scale);
    rewriter.replaceOpWithNewOp<AttentionOp>(
        mix, mix.getType(), query, key, mix.getValue(), chain->mask,
        rewriter.getF32FloatAttr(chain->scale),
        chain->causal ? rewriter.getUnitAttr() : UnitAttr());
    ++numFused;
    return success();
  }

private:
  /// Follows the softmax's input back to its scores.
  static FailureOr<ScoreChain> match(Value value, MixOp mix,
                                     PatternRewriter &rewriter) {
    ScoreChain chain;
    while (true) {
      if (!value.hasOneUse())
        return rewriter.notifyMatchFailure(mix, "scores are used elsewhere");
      if (auto scores = value.getDefiningOp<ScoresOp>()) {
        chain.scores = scores;
        return chain;
      }
      if (auto scale = value.getDefiningOp<ScaleOp>()) {
        float factor = scale.getFactor().convertToFloat();
        // Masked scores are −infinity: only a factor greater than 0 keeps them.
        if (!(factor > 0))
          return rewriter.notifyMatchFailure(mix,
                                             "the scale is not greater than 0");
        chain.scale *= factor;
        value = scale.getInput();
        continue;
      }
      auto masked = value.getDefiningOp<ApplyMaskOp>();
      if (!masked)
        return rewriter.notifyMatchFailure(
            mix, "expects scores, scale or apply_mask before the softmax");
      if (masked.getMask().getDefiningOp<CausalMaskOp>()) {
        chain.causal = true;
      } else if (!chain.mask) {
        chain.mask = masked.getMask();
      } else {
        return rewriter.notifyMatchFailure(mix, "there are two masks");
      }
      value = masked.getScores();
    }
  }

  /// The operand without a scale that nothing else uses.
  static Value takeScale(Value operand, float &scale) {
    auto op = operand.getDefiningOp<ScaleOp>();
    if (!op || !op->hasOneUse())
      return operand;
    scale *= op.getFactor().convertToFloat();
    return op.getInput();
  }

  Pass::Statistic &numFused;
};

struct FuseAttentionPass : tfm::impl::FuseAttentionPassBase<FuseAttentionPass> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseAttention>(&getContext(), numFused);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
