//===- FuseFfn.cpp - One operation for a feed-forward network -------------===//
//
// Expects linear maps with an activation, and perhaps a gate, in between.
// Promises the same arithmetic in the same order. Leaves alone what Passes.td
// lists.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Iterators.h"
#include "mlir/IR/PatternMatch.h"
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
/// The parts of the network that ends in a map.
struct Network {
  ActivationOp activation;
  LinearOp up, gate, down;
};
} // namespace

/// The activation that makes the input of a network's last map, perhaps with a
/// gate, if any.
static ActivationOp findActivation(LinearOp down) {
  Value hidden = down.getInput();
  if (auto activation = hidden.getDefiningOp<ActivationOp>())
    return activation;
  auto gated = hidden.getDefiningOp<MulOp>();
  if (!gated)
    return {};
  auto activation = gated.getLhs().getDefiningOp<ActivationOp>();
  return activation ? activation : gated.getRhs().getDefiningOp<ActivationOp>();
}

/// Finds the network around an activation, or reports why there is none.
static FailureOr<Network> match(LinearOp down, ActivationOp activation) {
  auto decline = [&](const Twine &reason) {
    down.emitRemark("feed-forward network left unfused: ") << reason;
    return failure();
  };
  Network network{activation, {}, {}, down};
  if (!activation->hasOneUse() || !down.getInput().hasOneUse())
    return decline("the activation or the gate has other uses");
  auto inner = soleProducer<LinearOp>(activation.getInput());
  if (!inner)
    return decline("expects a linear map for the activation alone");
  network.up = inner;
  if (auto gated = down.getInput().getDefiningOp<MulOp>()) {
    network.gate = inner;
    network.up = soleProducer<LinearOp>(
        gated.getLhs() == activation ? gated.getRhs() : gated.getLhs());
    if (!network.up || network.up.getInput() != inner.getInput())
      return decline("expects gate and up to be maps of one input, for the "
                     "gate alone");
  }
  return network;
}

namespace {
struct FuseFfnPass : tfm::impl::FuseFfnPassBase<FuseFfnPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<LinearOp> maps;
    // A map comes after those that are erased along with it.
    getOperation().walk<WalkOrder::PostOrder, ForwardDominanceIterator<>>(
        [&](LinearOp op) { maps.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (LinearOp down : maps)
      if (ActivationOp activation = findActivation(down))
        if (FailureOr<Network> network = match(down, activation);
            succeeded(network))
          fuse(*network, rewriter);
  }

  void fuse(Network network, RewriterBase &rewriter) {
    auto [activation, up, gate, down] = network;
    SmallVector<Operation *> inner = {activation, up};
    if (gate) {
      inner.insert(inner.begin(), down.getInput().getDefiningOp());
      inner.push_back(gate);
    }
    rewriter.setInsertionPoint(down);
    rewriter.replaceOpWithNewOp<FfnOp>(
        down, down.getType(), activation.getKind(), up.getInput(),
        up.getWeight(), down.getWeight(), gate ? gate.getWeight() : Value(),
        up.getBias(), down.getBias(), gate ? gate.getBias() : Value());
    for (Operation *op : inner)
      rewriter.eraseOp(op);
    ++numFused;
  }
};
} // namespace
