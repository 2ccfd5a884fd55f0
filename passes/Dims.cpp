//===- Dims.cpp - Where dimensions come from ------------------------------===//

#include "passes/Dims.h"

#include "dialect/Shapes.h"
#include "dialect/TfmDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tfm;

/// Dimension `dim` of the result of an operation that keeps all dimensions of
/// its first operand but the last.
static std::optional<DimSource> keepsRows(Operation *op, int64_t dim) {
  Value operand = op->getOperand(0);
  if (dim >= cast<RankedTensorType>(operand.getType()).getRank() ||
      dim + 1 == cast<RankedTensorType>(op->getResult(0).getType()).getRank())
    return std::nullopt;
  return DimSource{operand, dim};
}

/// The size that an operation was given for a dimension of its result.
static std::optional<DimSource> getSize(OpFoldResult size) {
  if (auto value = dyn_cast<Value>(size))
    return DimSource{value, std::nullopt};
  return std::nullopt;
}

/// What two dimensions make together of which one may be 1: the one that is
/// known to be something else, or that the other leaves.
static std::optional<DimSource> broadcastSource(DimSource lhs, DimSource rhs) {
  std::optional<int64_t> l = getKnownDim(lhs), r = getKnownDim(rhs);
  if (l == 1 || (r && r != 1))
    return rhs;
  if (l || r == 1 || areEqualDims(lhs, rhs))
    return lhs;
  return std::nullopt;
}

std::optional<DimSource> tfm::getDimSource(Value value, int64_t dim) {
  using Source = std::optional<DimSource>;
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, Source>(op)
      .Case<RopeOp, RmsNormOp, LayerNormOp, L2NormalizeOp, ActivationOp,
            AddVectorOp, AddOp, MulOp, ScaleOp, AddBiasOp, ApplyMaskOp,
            SoftmaxOp, DropoutOp, MaskNotOp, tensor::CastOp>(
          [&](auto op) { return DimSource{op->getOperand(0), dim}; })
      .Case<EmbedOp, EmbedPositionsOp, LinearOp, FfnOp, QuantizeOp,
            QuantizedLinearOp, CacheAttentionOp>(
          [&](auto op) { return keepsRows(op, dim); })
      .Case([&](SplitHeadsOp op) -> Source {
        if (dim == 1 || dim == 3)
          return std::nullopt;
        return DimSource{op.getInput(), dim / 2};
      })
      .Case([&](PoolOp op) { return DimSource{op.getInput(), 2 * dim}; })
      .Case([&](MergeHeadsOp op) -> Source {
        if (dim == 2)
          return std::nullopt;
        return DimSource{op.getInput(), 2 * dim};
      })
      .Case([&](RepeatHeadsOp op) -> Source {
        if (dim == 1)
          return std::nullopt;
        return DimSource{op.getInput(), dim};
      })
      .Case([&](TransposeOp op) {
        return DimSource{op.getInput(), dim < 2 ? dim : 5 - dim};
      })
      .Case<MatmulOp, MixOp>(
          [&](auto op) { return DimSource{op->getOperand(dim == 3), dim}; })
      .Case([&](AttentionOp op) {
        return DimSource{dim == 3 ? op.getValue() : op.getQuery(), dim};
      })
      .Case([&](ScoresOp op) {
        return dim == 3 ? DimSource{op.getKey(), 2}
                        : DimSource{op.getQuery(), dim};
      })
      .Case<CausalMaskOp, WindowMaskOp>([&](auto op) -> Source {
        if (dim < 2)
          return std::nullopt;
        return DimSource{dim == 2 ? op.getQueries() : op.getKeys(),
                         std::nullopt};
      })
      .Case([&](PaddingMaskOp op) -> Source {
        if (dim == 0)
          return DimSource{op.getLengths(), 0};
        if (dim == 3)
          return DimSource{op.getKeys(), std::nullopt};
        return std::nullopt;
      })
      .Case([&](MaskAndOp op) {
        return broadcastSource({op.getLhs(), dim}, {op.getRhs(), dim});
      })
      .Case([&](tensor::ExtractSliceOp op) {
        llvm::SmallBitVector dropped = op.getDroppedDims();
        SmallVector<OpFoldResult> kept;
        for (auto [i, size] : llvm::enumerate(op.getMixedSizes()))
          if (!dropped.test(i))
            kept.push_back(size);
        return getSize(kept[dim]);
      })
      .Case([&](tensor::GenerateOp op) -> Source {
        if (!op.getType().isDynamicDim(dim))
          return std::nullopt;
        return getSize(
            op.getDynamicExtents()[op.getType().getDynamicDimIndex(dim)]);
      })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<int64_t> tfm::getKnownDim(DimSource source) {
  if (!source.dim)
    return getConstantIntValue(source.value);
  int64_t dim = shapeOf(source.value)[*source.dim];
  if (ShapedType::isDynamic(dim))
    return std::nullopt;
  return dim;
}

DimSource tfm::traceDim(DimSource source) {
  while (!getKnownDim(source)) {
    std::optional<DimSource> next;
    if (source.dim)
      next = getDimSource(source.value, *source.dim);
    else if (auto op = source.value.getDefiningOp<tensor::DimOp>())
      if (op.getSpeculatability() == Speculation::Speculatable)
        next = DimSource{op.getSource(), op.getConstantIndex()};
    if (!next)
      break;
    source = *next;
  }
  return source;
}

bool tfm::areEqualDims(DimSource lhs, DimSource rhs) {
  lhs = traceDim(lhs);
  rhs = traceDim(rhs);
  std::optional<int64_t> known = getKnownDim(lhs);
  return known ? known == getKnownDim(rhs) : lhs == rhs;
}
