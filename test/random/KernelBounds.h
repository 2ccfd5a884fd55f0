//===- KernelBounds.h - How far machine code may be off ---------*- C++ -*-===//
//
// A running error analysis of a kernel's body (Higham, "Accuracy and Stability
// of Numerical Algorithms", chapter 3): each tensor has the largest magnitude
// of its elements and a bound on the error of each of them, and each operation
// has a rule. Kernels add in f32 in some order, the interpreter in f64.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_TEST_RANDOM_KERNELBOUNDS_H
#define TFM_TEST_RANDOM_KERNELBOUNDS_H

#include "dialect/interp/Interpreter.h"

namespace mlir::tfm {

/// What is known of a tensor's elements.
struct Bound {
  double largest = 0; ///< infinities aside
  double error = 0;
};

/// A weight matrix as numbers.
struct MatrixNorms {
  double element = 0; ///< the largest magnitude
  double rowSum = 0;  ///< the largest sum of a row's magnitudes
  /// The largest sum of the magnitudes of the parts that blocks are added in:
  /// scale times the largest integer, and constant.
  double partSum = 0;
};

/// Bounds of the results of `launch`'s kernel for the given arguments, or none
/// if an operation has no rule.
std::optional<SmallVector<Bound>> boundResults(LaunchOp launch,
                                               ArrayRef<RuntimeValue> arguments,
                                               Interpreter &interpreter);

} // namespace mlir::tfm

#endif // TFM_TEST_RANDOM_KERNELBOUNDS_H
