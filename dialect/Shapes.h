//===- Shapes.h - Rules that operations share -------------------*- C++ -*-===//
//
// What the verifiers and the shape inference of all families share.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_DIALECT_SHAPES_H
#define TFM_DIALECT_SHAPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include <optional>

namespace mlir::tfm {

/// The shape of a ranked tensor.
inline ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// The innermost dimension of a ranked tensor.
inline int64_t lastDim(Value value) { return shapeOf(value).back(); }

/// Whichever of two dimensions that must be equal is known.
inline int64_t knownDim(int64_t lhs, int64_t rhs) {
  return ShapedType::isDynamic(lhs) ? rhs : lhs;
}

/// A tensor type like `value`'s with another innermost dimension.
RankedTensorType withLastDim(Value value, int64_t dim);

/// Fails with "expects `names` to have equal `dim`, but got `lhs` and `rhs`"
/// if both dimensions are known and differ.
LogicalResult verifyEqualDims(Operation *op, StringRef names, StringRef dim,
                              int64_t lhs, int64_t rhs);

/// Fails if H is known not to be a multiple of G.
LogicalResult verifyGroupedHeads(Operation *op, int64_t heads, int64_t groups);

/// Fails unless each dimension of `shape`, that of the operand `name`, is 1 or
/// that of `scores`, a shape [B, H, S, T]. Some dimensions may be unknown.
LogicalResult verifyBroadcasts(Operation *op, StringRef name,
                               ArrayRef<int64_t> shape,
                               ArrayRef<int64_t> scores);

/// The dimension that two make together of which one may be 1, as far as they
/// are known, or none if they don't go together.
std::optional<int64_t> broadcastDims(int64_t lhs, int64_t rhs);

/// Fails unless the dimensions of two shapes [B, H, S, T], those of lhs and
/// rhs, go together.
LogicalResult verifyMutualBroadcast(Operation *op, ArrayRef<int64_t> lhs,
                                    ArrayRef<int64_t> rhs);

/// `cache-c1`: fails unless every other use of `cache` comes before `op`, which
/// consumes it.
LogicalResult verifyConsumes(Operation *op, Value cache);

} // namespace mlir::tfm

#endif // TFM_DIALECT_SHAPES_H
