//===- QuantizeActivations.cpp - Integer products -------------------------===//
//
// Expects `linear` and `ffn`; promises that products with block-quantized
// weights are integer ones, as `quantize` and `quantized_linear` define them.
// Leaves alone maps over other weights and maps with a bias.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "passes/Passes.h"

namespace mlir::tfm {
#define GEN_PASS_DEF_QUANTIZEACTIVATIONSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::tfm

using namespace mlir;
using namespace mlir::tfm;

static bool isBlockQuantized(Value weight) {
  return isa<BlockType>(getElementTypeOrSelf(weight));
}

namespace {
struct QuantizeActivationsPass
    : tfm::impl::QuantizeActivationsPassBase<QuantizeActivationsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<FfnOp> networks;
    getOperation().walk([&](FfnOp op) {
      if (isBlockQuantized(op.getUp()) || isBlockQuantized(op.getDown()))
        networks.push_back(op);
    });
    for (FfnOp op : networks) {
      OpBuilder builder(op);
      op.replaceAllUsesWith(op.expand(builder));
      op.erase();
    }

    DenseMap<Value, QuantizeOp> quantized;
    SmallVector<LinearOp> maps;
    getOperation().walk([&](LinearOp op) {
      if (isBlockQuantized(op.getWeight()))
        maps.push_back(op);
    });
    for (LinearOp op : maps) {
      OpBuilder builder(op);
      QuantizeOp &input = quantized[op.getInput()];
      if (!input)
        input = QuantizeOp::create(builder, op.getLoc(), op.getInput());
      Value result = QuantizedLinearOp::create(
          builder, op.getLoc(), op.getType(), input.getQuants(),
          input.getScales(), input.getSums(), op.getWeight());
      if (op.getBias())
        result =
            AddVectorOp::create(builder, op.getLoc(), result, op.getBias());
      op.replaceAllUsesWith(result);
      op.erase();
      ++numQuantized;
    }
  }
};
} // namespace
