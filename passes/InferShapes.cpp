//===- InferShapes.cpp - Fills in dimensions ------------------------------===//
//
// Walks a function once from top to bottom and gives each result the type that
// its operands imply. Values only gain dimensions, so a second run finds
// nothing to do.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

namespace mlir::tfm {
#define GEN_PASS_DEF_INFERSHAPESPASS
#include "passes/Passes.h.inc"
} // namespace mlir::tfm

using namespace mlir;
using namespace mlir::tfm;

/// `type` with the dimensions that only `inferred` knows.
static Type refine(Type type, Type inferred) {
  auto shaped = dyn_cast<RankedTensorType>(type);
  auto source = dyn_cast<RankedTensorType>(inferred);
  if (!shaped || !source || shaped.getRank() != source.getRank())
    return type;
  SmallVector<int64_t> shape(shaped.getShape());
  for (auto [dim, known] : llvm::zip_equal(shape, source.getShape()))
    if (ShapedType::isDynamic(dim))
      dim = known;
  return shaped.clone(shape);
}

namespace {
struct InferShapesPass : tfm::impl::InferShapesPassBase<InferShapesPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    WalkResult result = function.walk([&](InferTypeOpInterface op) {
      return failed(refineResults(op)) ? WalkResult::interrupt()
                                       : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();

    auto terminator =
        cast<func::ReturnOp>(function.getBody().back().getTerminator());
    function.setType(FunctionType::get(&getContext(),
                                       function.getArgumentTypes(),
                                       terminator.getOperandTypes()));
  }

  LogicalResult refineResults(InferTypeOpInterface op) {
    SmallVector<Type> inferred;
    if (failed(op.inferReturnTypes(&getContext(), op->getLoc(),
                                   op->getOperands(), op->getAttrDictionary(),
                                   op->getPropertiesStorage(), op->getRegions(),
                                   inferred)))
      return failure();
    for (auto [value, type] : llvm::zip_equal(op->getResults(), inferred)) {
      Type refined = refine(value.getType(), type);
      if (refined == value.getType())
        continue;
      value.setType(refined);
      ++numRefined;
    }
    return success();
  }
};
} // namespace
