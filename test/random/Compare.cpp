//===- Compare.cpp - When numbers count as equal --------------------------===//

#include "test/random/Compare.h"

#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mlir::tfm;

Array tfm::copyOf(const Array &array) {
  Array copy = Array::zeros(array.elementType, array.shape);
  copy.copyFrom(array);
  return copy;
}

/// "[1, 0, 3]" for element `index` of a row-major array.
static std::string placeOf(const Array &array, int64_t index) {
  SmallVector<int64_t> place;
  for (int64_t dim : llvm::reverse(array.shape)) {
    place.push_back(index % dim);
    index /= dim;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(llvm::reverse(place), os);
  os << ']';
  return text;
}

static std::string describe(const Array &array, int64_t index, double expected,
                            double actual, double allowed) {
  char text[160];
  std::snprintf(text, sizeof(text),
                "%s: expects %.9g, but got %.9g (apart %.3g, allowed %.3g)",
                placeOf(array, index).c_str(), expected, actual,
                std::fabs(expected - actual), allowed);
  return text;
}

std::optional<std::string> tfm::compare(const Array &expected,
                                        const Array &actual,
                                        const Tolerance &tolerance) {
  if (expected.shape != actual.shape ||
      expected.elementType != actual.elementType)
    return "expects another shape or element type";
  Array before = expected.toRowMajor(), after = actual.toRowMajor();
  if (!expected.elementType.isF32()) {
    int64_t bytes = before.bytes() / std::max<int64_t>(1, before.size());
    for (int64_t i = 0; i != before.size(); ++i)
      if (std::memcmp(before.data.get() + i * bytes,
                      after.data.get() + i * bytes, bytes) != 0)
        return placeOf(before, i) + ": expects other bits";
    return std::nullopt;
  }

  int64_t size = before.lastDim();
  for (int64_t row = 0, rows = before.rows(); row != rows; ++row) {
    auto x = before.floats().slice(row * size, size);
    auto y = after.floats().slice(row * size, size);
    double norm = 0;
    for (float element : x)
      if (!std::isinf(element))
        norm = std::hypot(norm, element);
    norm = std::max(norm, tolerance.typicalNorm);
    double allowed = tolerance.absolute + tolerance.ofRow * norm;
    double apart = 0;
    for (int64_t i = 0; i != size; ++i) {
      // Infinities are equal or not; what is not a number never is.
      bool isEqual = allowed == 0
                         ? std::memcmp(&x[i], &y[i], sizeof(float)) == 0
                         : x[i] == y[i];
      if (std::isnan(x[i]) || std::isnan(y[i]) ||
          (!isEqual && !(std::fabs(double(x[i]) - y[i]) <= allowed)))
        return describe(before, row * size + i, x[i], y[i], allowed);
      if (!isEqual)
        apart = std::hypot(apart, double(x[i]) - y[i]);
    }
    if (tolerance.absolute == 0 && apart > allowed)
      return "row " + std::to_string(row) + ": apart " + std::to_string(apart) +
             ", allowed " + std::to_string(allowed);
  }
  return std::nullopt;
}
