//===- Compare.h - When numbers count as equal ------------------*- C++ -*-===//

#ifndef TFM_TEST_RANDOM_COMPARE_H
#define TFM_TEST_RANDOM_COMPARE_H

#include "dialect/interp/Values.h"

namespace mlir::tfm {

/// How far two results may be apart. By default they are equal to the bit.
struct Tolerance {
  /// Of any element.
  double absolute = 0;
  /// Of the difference of two rows, as a part of the row's Euclidean norm.
  double ofRow = 0;
  /// What a row's norm counts as at least: that of a typical row.
  double typicalNorm = 0;
};

/// The rounding error of one f32 and of one f16 operation.
inline constexpr double kUnit = 0x1p-24, kHalfUnit = 0x1p-11;

/// Says where `actual` is further from `expected` than allowed, or has a NaN.
std::optional<std::string> compare(const Array &expected, const Array &actual,
                                   const Tolerance &tolerance);

/// A copy that shares no elements.
Array copyOf(const Array &array);

} // namespace mlir::tfm

#endif // TFM_TEST_RANDOM_COMPARE_H
