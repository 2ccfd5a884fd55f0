//===- FuseFfn.cpp - One operation for a feed-forward network -------------===//
//
// Expects linear maps with an activation, and perhaps a gate, in between.
// Promises the same arithmetic in the same order. Leaves alone what Passes.td
// lists.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Passes.h"

namespace mlir::tfm {
#define GEN_PASS_DEF_FUSEFFNPASS
#include "passes/Passes.h.inc"
} // namespace mlir::tfm

using namespace mlir;
using namespace mlir::tfm;

/// The operation of type `OpTy` that makes `value` for this use alone.
template <typename OpTy> static OpTy soleProducer(Value value) {
  auto op = value.getDefiningOp<OpTy>();
  return op && op->hasOneUse() ? op : OpTy();
}

namespace {
struct FuseFfn : OpRewritePattern<LinearOp> {
  FuseFfn(MLIRContext *context, Pass::Statistic &numFused)
      : OpRewritePattern(context), numFused(numFused) {}

  LogicalResult matchAndRewrite(LinearOp down,
                                PatternRewriter &rewriter) const override {
    Value hidden = down.getInput();
    auto gated = soleProducer<MulOp>(hidden);
    ActivationOp activation;
    LinearOp up, gate;
    if (gated) {
      activation = soleProducer<ActivationOp>(gated.getLhs());
      up = soleProducer<LinearOp>(gated.getRhs());
      if (!activation || !up) {
        activation = soleProducer<ActivationOp>(gated.getRhs());
        up = soleProducer<LinearOp>(gated.getLhs());
      }
      if (!activation || !up)
        return rewriter.notifyMatchFailure(
            down, "expects an activation and a linear map in the gate");
      gate = soleProducer<LinearOp>(activation.getInput());
      if (!gate || gate.getInput() != up.getInput())
        return rewriter.notifyMatchFailure(
            down, "expects gate and up to be maps of one input");
    } else {
      activation = soleProducer<ActivationOp>(hidden);
      if (!activation)
        return rewriter.notifyMatchFailure(
            down, "expects an activation before the map");
      up = soleProducer<LinearOp>(activation.getInput());
      if (!up)
        return rewriter.notifyMatchFailure(
            down, "expects a linear map before the activation");
    }
    if (down.getBias() || up.getBias() || (gate && gate.getBias()))
      return rewriter.notifyMatchFailure(down, "a map has a bias");

    rewriter.replaceOpWithNewOp<FfnOp>(
        down, down.getType(), activation.getKind(), up.getInput(),
        up.getWeight(), down.getWeight(), gate ? gate.getWeight() : Value());
    ++numFused;
    return success();
  }

private:
  Pass::Statistic &numFused;
};

struct FuseFfnPass : tfm::impl::FuseFfnPassBase<FuseFfnPass> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseFfn>(&getContext(), numFused);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
