//===- Sums.h - Sums that several operations share --------------*- C++ -*-===//
//
// Products and sums in f64. Internal to the interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_DIALECT_INTERP_SUMS_H
#define TFM_DIALECT_INTERP_SUMS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::tfm {

/// The sum of the products of two rows of equal size.
inline double dot(ArrayRef<float> lhs, ArrayRef<float> rhs) {
  double sum = 0;
  for (auto [x, y] : llvm::zip_equal(lhs, rhs))
    sum += static_cast<double>(x) * y;
  return sum;
}

/// A weighted sum of rows.
class Mixture {
public:
  explicit Mixture(size_t size) : sums(size) {}

  void add(double weight, ArrayRef<float> row) {
    for (auto [sum, x] : llvm::zip_equal(sums, row))
      sum += weight * x;
  }
  void store(MutableArrayRef<float> result) const {
    llvm::copy(sums, result.begin());
  }

private:
  SmallVector<double> sums;
};

/// Makes probabilities of scores, see `tfm.softmax`.
void softmax(MutableArrayRef<double> row);

/// Attention of one query over the positions 0..`keys`−1, of which a score of
/// −infinity excludes one, see `tfm.attention`.
void attend(int64_t keys, function_ref<double(int64_t)> score,
            function_ref<ArrayRef<float>(int64_t)> value,
            MutableArrayRef<float> result);

} // namespace mlir::tfm

#endif // TFM_DIALECT_INTERP_SUMS_H
