//===- Dims.h - Where dimensions come from ----------------------*- C++ -*-===//
//
// Which dimensions are equal whatever the lengths at run time, by the
// definitions of the operations in between.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_PASSES_DIMS_H
#define TFM_PASSES_DIMS_H

#include "mlir/IR/Value.h"
#include <optional>

namespace mlir::tfm {

/// Dimension `dim` of the tensor `value`, or the index `value` if `dim` is
/// none.
struct DimSource {
  Value value;
  std::optional<int64_t> dim;

  friend bool operator==(const DimSource &, const DimSource &) = default;
};

/// What dimension `dim` of a tensor is equal to by the definition of the
/// operation that makes it: a dimension of an operand or an index operand.
std::optional<DimSource> getDimSource(Value value, int64_t dim);

/// The first source of a dimension or index: nothing says what it equals,
/// unless it is a number that is known.
DimSource traceDim(DimSource source);

/// The number that a traced dimension or index always is, if it is known.
std::optional<int64_t> getKnownDim(DimSource source);

/// True if two dimensions are equal in every run.
bool areEqualDims(DimSource lhs, DimSource rhs);

} // namespace mlir::tfm

#endif // TFM_PASSES_DIMS_H
