//===- Values.h - What the interpreter computes with ------------*- C++ -*-===//
//
// The run-time side of the types: arrays for tensors and buffers, caches, and
// integers for index values.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_DIALECT_INTERP_VALUES_H
#define TFM_DIALECT_INTERP_VALUES_H

#include "dialect/TfmDialect.h"
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace mlir::tfm {

/// The number of elements of `shape`, or none if a dimension is negative or
/// there are more than the interpreter is willing to allocate.
std::optional<int64_t> countElements(ArrayRef<int64_t> shape);

/// A tensor or a buffer. Copies share the elements: a tensor's are written
/// once, by the operation that makes it; a buffer's may change at any time.
/// An i1 takes a byte; blocks are stored as in a GGUF file.
struct Array {
  Type elementType;
  SmallVector<int64_t> shape;
  /// Elements between neighbours along each dimension.
  SmallVector<int64_t> strides;
  /// The first element.
  std::shared_ptr<char> data;

  /// Row-major, over memory that holds the elements already.
  static Array wrap(Type elementType, ArrayRef<int64_t> shape,
                    std::shared_ptr<char> data);
  /// Row-major and zeroed; `countElements` accepts the shape.
  static Array zeros(Type elementType, ArrayRef<int64_t> shape);

  int64_t rank() const { return shape.size(); }
  int64_t size() const;
  /// The product of all dimensions but the last.
  int64_t rows() const;
  int64_t lastDim() const { return shape.back(); }
  /// Bytes of one element that is not in a block.
  int64_t elementBytes() const;
  /// Bytes of a row-major array.
  int64_t bytes() const;

  bool isRowMajor() const;
  /// This array if it is row-major, else a row-major copy.
  Array toRowMajor() const;
  /// The same elements in row-major order under another shape of equal size.
  Array reshape(ArrayRef<int64_t> newShape) const;
  /// Writes the elements of `source`, of equal shape and element type.
  void copyFrom(const Array &source) const;
  /// Sets every byte of a row-major array to 0xff, a NaN in floats, so that
  /// what nobody has written shows.
  void poison() const;

  /// The elements of a row-major array.
  template <typename T> MutableArrayRef<T> as() const {
    return {reinterpret_cast<T *>(data.get()), static_cast<size_t>(size())};
  }
  MutableArrayRef<float> floats() const { return as<float>(); }

  /// Row `row` of a row-major matrix or vector of any weight type, as f32.
  void decodeRow(int64_t row, MutableArrayRef<float> elements) const;
};

/// The run-time side of `!tfm.kv_cache`.
struct Cache {
  KvCacheType type;
  int64_t context;
  /// [B] i32
  Array lengths;
  /// [L, B, G, T, D] and [L, B, G, T, D'], rounded to the element type.
  std::vector<float> keys, values;

  /// An empty cache, or none if it would be too large.
  static std::shared_ptr<Cache> create(KvCacheType type, int64_t batch,
                                       int64_t context);

  int64_t batch() const { return lengths.shape[0]; }
  MutableArrayRef<float> key(int64_t layer, int64_t sample, int64_t head,
                             int64_t position);
  MutableArrayRef<float> value(int64_t layer, int64_t sample, int64_t head,
                               int64_t position);
};

/// An index or integer, a tensor or buffer, or a cache.
using RuntimeValue = std::variant<int64_t, Array, std::shared_ptr<Cache>>;

/// Rounds to the nearest f16, ties to even.
float roundToF16(float value);

} // namespace mlir::tfm

#endif // TFM_DIALECT_INTERP_VALUES_H
