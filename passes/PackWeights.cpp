//===- PackWeights.cpp - Weights in the order of reading ------------------===//
//
// Expects launches whose matrices come from `load`. Promises that kernels get
// those matrices as packed parts, and that every loaded weight has a placement
// in the weight section. Leaves alone vectors, and matrices that something
// other than a launch reads.
//
//===----------------------------------------------------------------------===//

#include "dialect/Weights.h"
#include "mlir/IR/Builders.h"
#include "passes/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::tfm {
#define GEN_PASS_DEF_PACKWEIGHTSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::tfm

using namespace mlir;
using namespace mlir::tfm;

/// Weights start at multiples of a cache line.
static constexpr uint64_t kAlignment = 64;

/// The load of a matrix behind a launch's operand.
static LoadOp getMatrixLoad(Value operand) {
  auto load = operand.getDefiningOp<LoadOp>();
  auto type =
      load ? dyn_cast<RankedTensorType>(load.getType()) : RankedTensorType();
  return type && type.getRank() == 2 ? load : LoadOp();
}

/// Replaces argument `index` by the parts that it is unpacked from.
static void unpackArgument(KernelOp kernel, unsigned index) {
  Block &body = kernel.getBody().front();
  BlockArgument matrix = body.getArgument(index);
  auto type = cast<RankedTensorType>(matrix.getType());
  auto builder = OpBuilder::atBlockBegin(&body);
  SmallVector<Value> parts;
  for (auto [offset, part] : llvm::enumerate(UnpackOp::getParts(type)))
    parts.push_back(
        body.insertArgument(index + 1 + offset, part.second, matrix.getLoc()));
  matrix.replaceAllUsesWith(
      UnpackOp::create(builder, matrix.getLoc(), type, parts).getResult());
  body.eraseArgument(index);
  kernel.setType(builder.getFunctionType(body.getArgumentTypes(),
                                         kernel.getResultTypes()));
}

namespace {
struct PackWeightsPass : tfm::impl::PackWeightsPassBase<PackWeightsPass> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::MapVector<KernelOp, SmallVector<LaunchOp>> launches;
    getOperation().walk([&](LaunchOp launch) {
      launches[symbols.lookup<KernelOp>(launch.getKernel())].push_back(launch);
    });
    for (auto &[kernel, users] : launches)
      // From the last argument on, so that positions stay as they are.
      for (int64_t i = users.front().getInputs().size() - 1; i >= 0; --i) {
        if (!llvm::all_of(users, [&](LaunchOp launch) {
              return getMatrixLoad(launch.getInputs()[i]);
            }))
          continue;
        unpackArgument(kernel, i);
        for (LaunchOp launch : users)
          passParts(launch, i, symbols);
      }
    getOperation().walk([&](LoadOp load) {
      if (load.use_empty())
        load.erase();
    });
    place(symbols);
  }

  /// Passes the packed parts of the matrix that input `index` loads.
  void passParts(LaunchOp launch, unsigned index, SymbolTable &symbols) {
    LoadOp load = getMatrixLoad(launch.getInputs()[index]);
    auto weight = symbols.lookup<WeightOp>(load.getWeight());
    OpBuilder builder(launch);
    SmallVector<Value> parts;
    for (auto [part, type] :
         UnpackOp::getParts(cast<RankedTensorType>(load.getType()))) {
      WeightOp packed = getPacked(weight, part, type, symbols);
      parts.push_back(
          LoadOp::create(builder, load.getLoc(), type, packed.getSymName())
              .getResult());
    }
    launch.getInputsMutable().slice(index, 1).assign(parts);
  }

  WeightOp getPacked(WeightOp weight, PackedPart part, RankedTensorType type,
                     SymbolTable &symbols) {
    std::string name =
        (weight.getSymName() + "." + stringifyPackedPart(part)).str();
    if (auto packed = symbols.lookup<WeightOp>(name))
      return packed;
    OpBuilder builder(weight->getContext());
    builder.setInsertionPointAfter(weight);
    auto packed = WeightOp::create(
        builder, weight.getLoc(), name, type,
        PackedAttr::get(weight->getContext(),
                        FlatSymbolRefAttr::get(weight.getSymNameAttr()), part),
        IntegerAttr());
    symbols.insert(packed);
    numPacked += part == PackedPart::Quants || part == PackedPart::Values;
    return packed;
  }

  /// Behind what has a place already.
  void place(SymbolTable &symbols) {
    uint64_t end = 0;
    auto endOf = [](WeightOp weight) {
      auto type = cast<RankedTensorType>(weight.getType());
      return llvm::alignTo(*weight.getPlacement() + getStoredBytes(type),
                           kAlignment);
    };
    for (WeightOp weight : getOperation().getOps<WeightOp>())
      if (weight.getPlacement())
        end = std::max(end, endOf(weight));
    Builder builder(&getContext());
    getOperation().walk([&](LoadOp load) {
      auto weight = symbols.lookup<WeightOp>(load.getWeight());
      if (weight.getPlacement())
        return;
      weight.setPlacementAttr(builder.getI64IntegerAttr(end));
      end = endOf(weight);
    });
  }
};
} // namespace
