//===- Random.h - Choices that follow from a seed ---------------*- C++ -*-===//
//
// The same seed gives the same choices with every standard library: only the
// engine, which the standard defines exactly, is the library's.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_TEST_RANDOM_RANDOM_H
#define TFM_TEST_RANDOM_RANDOM_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include <random>

namespace mlir::tfm {

class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}

  /// An integer in min..max.
  int64_t integer(int64_t min, int64_t max) {
    return min + static_cast<int64_t>(engine() % (max - min + 1));
  }
  bool chance(int percent) { return integer(1, 100) <= percent; }
  /// A number between −1 and 1.
  float number() {
    return static_cast<float>(integer(-(1 << 20), 1 << 20)) / (1 << 20);
  }
  template <typename T> const T &of(ArrayRef<T> choices) {
    return choices[integer(0, choices.size() - 1)];
  }
  template <typename T> T of(std::initializer_list<T> choices) {
    return of(ArrayRef<T>(choices));
  }

private:
  std::mt19937_64 engine;
};

} // namespace mlir::tfm

#endif // TFM_TEST_RANDOM_RANDOM_H
