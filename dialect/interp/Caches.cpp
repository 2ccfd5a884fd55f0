//===- Caches.cpp - The key/value cache -----------------------------------===//
//
// The type is linear, so a cache is updated in place and passed on.
//
//===----------------------------------------------------------------------===//

#include "dialect/Shapes.h"
#include "dialect/interp/Frame.h"
#include "dialect/interp/Sums.h"

using namespace mlir;
using namespace mlir::tfm;

LogicalResult Frame::run(CacheCreateOp op) {
  int64_t batch = index(op.getBatch()), context = index(op.getContext());
  auto cache = Cache::create(op.getType(), batch, context);
  if (!cache)
    return op.emitError() << "expects a cache that memory can hold, but got "
                          << batch << " samples of " << context << " positions";
  return set(op.getResult(), cache);
}

LogicalResult Frame::run(CacheLengthsOp op) {
  const Array &lengths = cache(op.getCache())->lengths;
  if (isa<MemRefType>(op.getType()))
    return set(op.getResult(), lengths);
  FailureOr<Array> result = create(op.getResult(), lengths.shape);
  if (failed(result))
    return failure();
  result->copyFrom(lengths);
  return success();
}

LogicalResult Frame::verifyLayer(Operation *op, const Cache &cache,
                                 int64_t layer) {
  if (layer >= 0 && layer < cache.type.getLayers())
    return success();
  return op->emitOpError() << "expects a layer in 0.."
                           << cache.type.getLayers() - 1 << ", but got "
                           << layer;
}

/// Fails unless every sample has room for `count` positions.
static LogicalResult verifyRoom(Operation *op, const Cache &cache,
                                int64_t count) {
  for (int32_t length : cache.lengths.as<int32_t>())
    if (count > cache.context - length)
      return op->emitOpError() << "expects at most " << cache.context
                               << " positions of a sample, but got " << length
                               << " and " << count << " more";
  return success();
}

LogicalResult Frame::run(CacheAppendOp op) {
  const Array key = array(op.getKey()), value = array(op.getValue());
  std::shared_ptr<Cache> cache = this->cache(op.getCache());
  int64_t layer = index(op.getLayer()), heads = cache->type.getHeads(),
          count = key.shape[2];
  if (failed(verifyLayer(op, *cache, layer)) ||
      failed(verifyEqualDims(op, "key and cache", "batch B", key.shape[0],
                             cache->batch())) ||
      failed(verifyEqualDims(op, "value and cache", "batch B", value.shape[0],
                             cache->batch())) ||
      failed(verifyEqualDims(op, "key and cache", "number of heads G",
                             key.shape[1], heads)) ||
      failed(verifyEqualDims(op, "value and cache", "number of heads G",
                             value.shape[1], heads)) ||
      failed(verifyEqualDims(op, "key and cache", "head size D", key.shape[3],
                             cache->type.getKeySize())) ||
      failed(verifyEqualDims(op, "value and cache", "head size D",
                             value.shape[3], cache->type.getValueSize())) ||
      failed(verifyEqualDims(op, "key and value", "length S", count,
                             value.shape[2])) ||
      failed(verifyRoom(op, *cache, count)))
    return failure();

  bool isHalf = cache->type.getElementType().isF16();
  auto store = [&](const Array &from, int64_t row, MutableArrayRef<float> to) {
    for (auto [i, x] : llvm::enumerate(to)) {
      float exact = from.floats()[row * to.size() + i];
      x = isHalf ? roundToF16(exact) : exact;
    }
  };
  for (int64_t b = 0; b != cache->batch(); ++b)
    for (int64_t g = 0; g != heads; ++g)
      for (int64_t s = 0; s != count; ++s) {
        int64_t row = (b * heads + g) * count + s;
        int64_t position = cache->lengths.as<int32_t>()[b] + s;
        store(key, row, cache->key(layer, b, g, position));
        store(value, row, cache->value(layer, b, g, position));
      }
  return set(op.getResult(), cache);
}

LogicalResult Frame::run(CacheAdvanceOp op) {
  std::shared_ptr<Cache> cache = this->cache(op.getCache());
  int64_t count = index(op.getCount());
  if (count < 0)
    return op.emitOpError()
           << "expects a count of at least 0, but got " << count;
  if (failed(verifyRoom(op, *cache, count)))
    return failure();
  for (int32_t &length : cache->lengths.as<int32_t>())
    length += count;
  return set(op.getResult(), cache);
}

LogicalResult Frame::run(CacheTruncateOp op) {
  std::shared_ptr<Cache> cache = this->cache(op.getCache());
  const Array &lengths = array(op.getLengths());
  if (failed(verifyEqualDims(op, "cache and lengths", "batch B", cache->batch(),
                             lengths.size())))
    return failure();
  for (auto [length, limit] :
       llvm::zip_equal(cache->lengths.as<int32_t>(), lengths.as<int32_t>())) {
    if (limit < 0)
      return op.emitOpError()
             << "expects lengths of at least 0, but got " << limit;
    length = std::min(length, limit);
  }
  return set(op.getResult(), cache);
}

LogicalResult Frame::run(CacheGatherOp op) {
  std::shared_ptr<Cache> cache = this->cache(op.getCache());
  auto samples = array(op.getSamples()).as<int32_t>();
  for (int32_t sample : samples)
    if (sample < 0 || sample >= cache->batch())
      return op.emitOpError() << "expects samples in 0.." << cache->batch() - 1
                              << ", but got " << sample;
  auto gathered = Cache::create(cache->type, samples.size(), cache->context);
  if (!gathered)
    return op.emitError() << "expects a cache that memory can hold, but got "
                          << samples.size() << " samples";
  for (auto [b, sample] : llvm::enumerate(samples)) {
    gathered->lengths.as<int32_t>()[b] = cache->lengths.as<int32_t>()[sample];
    for (int64_t layer = 0; layer != cache->type.getLayers(); ++layer)
      for (int64_t g = 0; g != cache->type.getHeads(); ++g)
        for (int64_t t = 0; t != cache->context; ++t) {
          llvm::copy(cache->key(layer, sample, g, t),
                     gathered->key(layer, b, g, t).begin());
          llvm::copy(cache->value(layer, sample, g, t),
                     gathered->value(layer, b, g, t).begin());
        }
  }
  *cache = std::move(*gathered);
  return set(op.getResult(), cache);
}

LogicalResult Frame::run(CacheAttentionOp op) {
  const Array query = array(op.getQuery());
  std::shared_ptr<Cache> cache = this->cache(op.getCache());
  int64_t layer = index(op.getLayer()), heads = query.shape[1],
          count = query.shape[2];
  if (failed(verifyLayer(op, *cache, layer)) ||
      failed(verifyEqualDims(op, "query and cache", "batch B", query.shape[0],
                             cache->batch())) ||
      failed(verifyEqualDims(op, "query and cache", "head size D",
                             query.shape[3], cache->type.getKeySize())) ||
      failed(verifyGroupedHeads(op, heads, cache->type.getHeads())) ||
      failed(verifyRoom(op, *cache, count)))
    return failure();
  int64_t valueSize = cache->type.getValueSize();
  FailureOr<Array> result =
      create(op.getResult(), {query.shape[0], heads, count, valueSize});
  if (failed(result))
    return failure();

  int64_t headsPerGroup = heads / cache->type.getHeads();
  float scale = op.getScale().convertToFloat();
  for (int64_t row = 0, rows = query.rows(); row != rows; ++row) {
    int64_t s = row % count, h = row / count % heads, b = row / count / heads;
    int64_t group = h / headsPerGroup;
    int64_t position = cache->lengths.as<int32_t>()[b] + s;
    int64_t seen = position + 1;
    if (std::optional<uint64_t> window = op.getWindow())
      seen = std::min<uint64_t>(seen, *window);
    int64_t first = position + 1 - seen;
    auto x = query.floats().slice(row * query.lastDim(), query.lastDim());
    attend(
        seen,
        [&](int64_t i) {
          return scale * dot(x, cache->key(layer, b, group, first + i));
        },
        [&](int64_t i) { return cache->value(layer, b, group, first + i); },
        result->floats().slice(row * valueSize, valueSize));
  }
  return success();
}
