//===- Values.cpp - What the interpreter computes with --------------------===//

#include "dialect/interp/Values.h"

#include "dialect/Weights.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace mlir;
using namespace mlir::tfm;

/// 16 GiB of f32.
static constexpr int64_t kMaxElements = int64_t(1) << 32;

std::optional<int64_t> tfm::countElements(ArrayRef<int64_t> shape) {
  if (llvm::any_of(shape, [](int64_t dim) { return dim < 0; }))
    return std::nullopt;
  if (llvm::is_contained(shape, 0))
    return 0;
  int64_t count = 1;
  for (int64_t dim : shape)
    if (llvm::MulOverflow(count, dim, count) || count > kMaxElements)
      return std::nullopt;
  return count;
}

float tfm::roundToF16(float value) {
  llvm::APFloat rounded(value);
  bool losesInfo;
  rounded.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven,
                  &losesInfo);
  return rounded.convertToFloat();
}

//===----------------------------------------------------------------------===//
// Array
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

Array Array::wrap(Type elementType, ArrayRef<int64_t> shape,
                  std::shared_ptr<char> data) {
  return {elementType, SmallVector<int64_t>(shape), rowMajorStrides(shape),
          std::move(data)};
}

Array Array::zeros(Type elementType, ArrayRef<int64_t> shape) {
  Array result = wrap(elementType, shape, nullptr);
  auto memory = std::make_shared<std::vector<char>>(result.bytes());
  result.data = std::shared_ptr<char>(memory, memory->data());
  return result;
}

int64_t Array::size() const { return llvm::product_of(shape); }

int64_t Array::rows() const {
  return llvm::product_of(ArrayRef(shape).drop_back());
}

int64_t Array::elementBytes() const {
  return llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8);
}

int64_t Array::bytes() const {
  return getStoredBytes(RankedTensorType::get(shape, elementType));
}

bool Array::isRowMajor() const {
  int64_t expected = 1;
  for (auto [dim, stride] : llvm::reverse(llvm::zip_equal(shape, strides))) {
    if (dim != 1 && stride != expected)
      return false;
    expected *= dim;
  }
  return true;
}

Array Array::toRowMajor() const {
  if (isRowMajor())
    return *this;
  Array result = zeros(elementType, shape);
  result.copyFrom(*this);
  return result;
}

Array Array::reshape(ArrayRef<int64_t> newShape) const {
  return wrap(elementType, newShape, toRowMajor().data);
}

static void copyDim(const char *from, ArrayRef<int64_t> fromStrides, char *to,
                    ArrayRef<int64_t> toStrides, ArrayRef<int64_t> shape,
                    int64_t elementBytes) {
  if (shape.empty()) {
    std::memcpy(to, from, elementBytes);
    return;
  }
  for (int64_t i = 0; i != shape.front(); ++i)
    copyDim(from + i * fromStrides.front() * elementBytes,
            fromStrides.drop_front(), to + i * toStrides.front() * elementBytes,
            toStrides.drop_front(), shape.drop_front(), elementBytes);
}

void Array::copyFrom(const Array &source) const {
  if (bytes() == 0) // there is no memory to name
    return;
  if (isRowMajor() && source.isRowMajor()) {
    std::memmove(data.get(), source.data.get(), bytes());
    return;
  }
  copyDim(source.data.get(), source.strides, data.get(), strides, shape,
          elementBytes());
}

void Array::poison() const { std::fill_n(data.get(), bytes(), char(0xff)); }

void Array::decodeRow(int64_t row, MutableArrayRef<float> elements) const {
  int64_t rowBytes =
      getStoredBytes(RankedTensorType::get(lastDim(), elementType));
  decodeElements(ArrayRef(data.get() + row * rowBytes, rowBytes), elementType,
                 elements);
}

//===----------------------------------------------------------------------===//
// Cache
//===----------------------------------------------------------------------===//

std::shared_ptr<Cache> Cache::create(KvCacheType type, int64_t batch,
                                     int64_t context) {
  auto count = [&](int64_t headSize) {
    return countElements(
        {type.getLayers(), batch, type.getHeads(), context, headSize});
  };
  std::optional<int64_t> keys = count(type.getKeySize()),
                         values = count(type.getValueSize());
  if (!keys || !values || !countElements(batch))
    return nullptr;
  auto cache = std::make_shared<Cache>();
  cache->type = type;
  cache->context = context;
  cache->lengths = Array::zeros(IntegerType::get(type.getContext(), 32), batch);
  cache->keys.resize(*keys);
  cache->values.resize(*values);
  return cache;
}

/// A row of [L, B, G, T, `size`].
static MutableArrayRef<float> rowOf(std::vector<float> &elements, Cache &cache,
                                    int64_t layer, int64_t sample, int64_t head,
                                    int64_t position, int64_t size) {
  int64_t row = layer * cache.batch() + sample;
  row = row * cache.type.getHeads() + head;
  row = row * cache.context + position;
  return MutableArrayRef(elements).slice(row * size, size);
}

MutableArrayRef<float> Cache::key(int64_t layer, int64_t sample, int64_t head,
                                  int64_t position) {
  return rowOf(keys, *this, layer, sample, head, position, type.getKeySize());
}

MutableArrayRef<float> Cache::value(int64_t layer, int64_t sample, int64_t head,
                                    int64_t position) {
  return rowOf(values, *this, layer, sample, head, position,
               type.getValueSize());
}
