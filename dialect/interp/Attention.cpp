//===- Attention.cpp - Attention, step by step and fused ------------------===//

#include "dialect/Shapes.h"
#include "dialect/interp/Frame.h"
#include "dialect/interp/Sums.h"
#include "llvm/Support/MathExtras.h"
#include <array>
#include <cmath>

using namespace mlir;
using namespace mlir::tfm;

static constexpr float kMasked = -std::numeric_limits<float>::infinity();

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

/// Copies [B, I, J, D] to [B, J, I, D].
static void swapMiddleDims(const Array &from, const Array &to, int64_t batch,
                           int64_t i, int64_t j, int64_t d) {
  Array source = from.reshape({batch, i, j, d});
  std::swap(source.shape[1], source.shape[2]);
  std::swap(source.strides[1], source.strides[2]);
  to.reshape(source.shape).copyFrom(source);
}

LogicalResult Frame::run(SplitHeadsOp op) {
  const Array input = array(op.getInput());
  int64_t heads = op.getHeads(), batch = input.shape[0],
          length = input.shape[1], modelSize = input.shape[2];
  if (modelSize % heads != 0)
    return op.emitOpError() << "expects the model size E to be a multiple of "
                               "the number of heads, but got "
                            << modelSize << " and " << heads;
  int64_t headSize = modelSize / heads;
  FailureOr<Array> result =
      create(op.getResult(), {batch, heads, length, headSize});
  if (failed(result))
    return failure();
  swapMiddleDims(input, *result, batch, length, heads, headSize);
  return success();
}

LogicalResult Frame::run(MergeHeadsOp op) {
  const Array input = array(op.getInput());
  int64_t batch = input.shape[0], heads = input.shape[1],
          length = input.shape[2], headSize = input.shape[3];
  FailureOr<Array> result =
      create(op.getResult(), {batch, length, heads * headSize});
  if (failed(result))
    return failure();
  swapMiddleDims(input, *result, batch, heads, length, headSize);
  return success();
}

LogicalResult Frame::run(RepeatHeadsOp op) {
  const Array input = array(op.getInput());
  int64_t batch = input.shape[0], groups = input.shape[1],
          count = op.getCount(), rowsPerHead = input.shape[2],
          size = input.lastDim();
  int64_t heads;
  if (llvm::MulOverflow(groups, count, heads))
    return op.emitOpError() << "expects a number of heads below 2^63, but got "
                            << groups << " times " << count;
  FailureOr<Array> result =
      create(op.getResult(), {batch, heads, rowsPerHead, size});
  if (failed(result))
    return failure();
  int64_t elements = rowsPerHead * size;
  for (int64_t head = 0; head != batch * heads; ++head)
    llvm::copy(input.floats().slice(head / count * elements, elements),
               result->floats().slice(head * elements, elements).begin());
  return success();
}

LogicalResult Frame::run(TransposeOp op) {
  Array source = array(op.getInput());
  std::swap(source.shape[2], source.shape[3]);
  std::swap(source.strides[2], source.strides[3]);
  FailureOr<Array> result = create(op.getResult(), source.shape);
  if (failed(result))
    return failure();
  result->copyFrom(source);
  return success();
}

//===----------------------------------------------------------------------===//
// Rows of [B, H, S, D]
//===----------------------------------------------------------------------===//

/// Row [b, h, s] of an array of rank 4.
static MutableArrayRef<float> rowOf(const Array &array, int64_t b, int64_t h,
                                    int64_t s) {
  int64_t row = (b * array.shape[1] + h) * array.shape[2] + s;
  return array.floats().slice(row * array.lastDim(), array.lastDim());
}

/// The element of an array that broadcasts over [B, H, S, T].
template <typename T>
static T broadcastAt(const Array &array, int64_t b, int64_t h, int64_t s,
                     int64_t t) {
  const std::array<int64_t, 4> element = {b, h, s, t};
  int64_t position = 0;
  for (auto [dim, i] : llvm::zip_equal(array.shape, element))
    position = position * dim + (dim == 1 ? 0 : i);
  return array.as<T>()[position];
}

static bool keeps(const Array &mask, int64_t b, int64_t h, int64_t s,
                  int64_t t) {
  return broadcastAt<uint8_t>(mask, b, h, s, t);
}

/// Calls `body` with every [b, h, s] of an array of rank 4.
static void forEachRow(const Array &array,
                       function_ref<void(int64_t, int64_t, int64_t)> body) {
  for (int64_t b = 0; b != array.shape[0]; ++b)
    for (int64_t h = 0; h != array.shape[1]; ++h)
      for (int64_t s = 0; s != array.shape[2]; ++s)
        body(b, h, s);
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// A mask [1, 1, S, T] that keeps the positions (s, t) that `keeps` says.
template <typename MaskOp>
LogicalResult Frame::runMask(MaskOp op,
                             function_ref<bool(int64_t, int64_t)> keeps) {
  int64_t queries = index(op.getQueries()), keys = index(op.getKeys());
  FailureOr<Array> result = create(op.getResult(), {1, 1, queries, keys});
  if (failed(result))
    return failure();
  auto keep = result->template as<uint8_t>();
  for (int64_t s = 0; s != queries; ++s)
    for (int64_t t = 0; t != keys; ++t)
      keep[s * keys + t] = keeps(s, t);
  return success();
}

LogicalResult Frame::run(CausalMaskOp op) {
  return runMask(op, [](int64_t s, int64_t t) { return t <= s; });
}

/// Whether |s − t| < W, where there is a window W.
static bool isNear(std::optional<uint64_t> window, int64_t s, int64_t t) {
  return !window || static_cast<uint64_t>(std::abs(s - t)) < *window;
}

LogicalResult Frame::run(WindowMaskOp op) {
  return runMask(op, [&](int64_t s, int64_t t) {
    return isNear(op.getWindow(), s, t) && (!op.getCausal() || t <= s);
  });
}

LogicalResult Frame::run(PaddingMaskOp op) {
  auto lengths = array(op.getLengths()).as<int32_t>();
  int64_t batch = lengths.size(), keys = index(op.getKeys());
  FailureOr<Array> result = create(op.getResult(), {batch, 1, 1, keys});
  if (failed(result))
    return failure();
  auto keep = result->as<uint8_t>();
  for (int64_t b = 0; b != batch; ++b)
    for (int64_t t = 0; t != keys; ++t)
      keep[b * keys + t] = t < lengths[b];
  return success();
}

LogicalResult Frame::run(MaskAndOp op) {
  const Array lhs = array(op.getLhs()), rhs = array(op.getRhs());
  if (failed(verifyMutualBroadcast(op, lhs.shape, rhs.shape)))
    return failure();
  SmallVector<int64_t> shape;
  for (auto [l, r] : llvm::zip_equal(lhs.shape, rhs.shape))
    shape.push_back(*broadcastDims(l, r));
  FailureOr<Array> result = create(op.getResult(), shape);
  if (failed(result))
    return failure();
  auto keep = result->as<uint8_t>().begin();
  forEachRow(*result, [&](int64_t b, int64_t h, int64_t s) {
    for (int64_t t = 0; t != shape[3]; ++t)
      *keep++ = keeps(lhs, b, h, s, t) && keeps(rhs, b, h, s, t);
  });
  return success();
}

LogicalResult Frame::run(MaskNotOp op) {
  const Array input = array(op.getInput());
  FailureOr<Array> result = create(op.getResult(), input.shape);
  if (failed(result))
    return failure();
  for (auto [x, y] :
       llvm::zip_equal(input.as<uint8_t>(), result->as<uint8_t>()))
    y = !x;
  return success();
}

//===----------------------------------------------------------------------===//
// The textbook form
//===----------------------------------------------------------------------===//

LogicalResult Frame::run(ScoresOp op) {
  const Array query = array(op.getQuery()), key = array(op.getKey());
  if (failed(verifyEqualDims(op, "query and key", "batch B", query.shape[0],
                             key.shape[0])) ||
      failed(verifyEqualDims(op, "query and key", "head size D", query.shape[3],
                             key.shape[3])) ||
      failed(verifyGroupedHeads(op, query.shape[1], key.shape[1])))
    return failure();
  FailureOr<Array> result =
      create(op.getResult(),
             {query.shape[0], query.shape[1], query.shape[2], key.shape[2]});
  if (failed(result))
    return failure();
  int64_t headsPerGroup = query.shape[1] / key.shape[1];
  forEachRow(*result, [&](int64_t b, int64_t h, int64_t s) {
    for (auto [t, score] : llvm::enumerate(rowOf(*result, b, h, s)))
      score = dot(rowOf(query, b, h, s), rowOf(key, b, h / headsPerGroup, t));
  });
  return success();
}

LogicalResult Frame::run(ScaleOp op) {
  const Array input = array(op.getInput());
  FailureOr<Array> result = create(op.getResult(), input.shape);
  if (failed(result))
    return failure();
  float factor = op.getFactor().convertToFloat();
  for (auto [x, y] : llvm::zip_equal(input.floats(), result->floats()))
    y = x * factor;
  return success();
}

LogicalResult Frame::run(MatmulOp op) {
  const Array lhs = array(op.getLhs()), rhs = array(op.getRhs());
  if (failed(verifyEqualDims(op, "lhs and rhs", "batch B", lhs.shape[0],
                             rhs.shape[0])) ||
      failed(verifyEqualDims(op, "lhs and rhs", "number of heads H",
                             lhs.shape[1], rhs.shape[1])) ||
      failed(verifyEqualDims(op, "lhs and rhs", "inner size K", lhs.shape[3],
                             rhs.shape[2])))
    return failure();
  FailureOr<Array> result = create(
      op.getResult(), {lhs.shape[0], lhs.shape[1], lhs.shape[2], rhs.shape[3]});
  if (failed(result))
    return failure();
  forEachRow(*result, [&](int64_t b, int64_t h, int64_t i) {
    Mixture mixture(rhs.lastDim());
    for (auto [k, x] : llvm::enumerate(rowOf(lhs, b, h, i)))
      mixture.add(x, rowOf(rhs, b, h, k));
    mixture.store(rowOf(*result, b, h, i));
  });
  return success();
}

LogicalResult Frame::run(AddBiasOp op) {
  const Array scores = array(op.getScores()), bias = array(op.getBias());
  if (failed(verifyBroadcasts(op, "bias", bias.shape, scores.shape)))
    return failure();
  FailureOr<Array> result = create(op.getResult(), scores.shape);
  if (failed(result))
    return failure();
  forEachRow(scores, [&](int64_t b, int64_t h, int64_t s) {
    ArrayRef<float> row = rowOf(scores, b, h, s);
    for (auto [t, score] : llvm::enumerate(rowOf(*result, b, h, s)))
      score = row[t] + broadcastAt<float>(bias, b, h, s, t);
  });
  return success();
}

LogicalResult Frame::run(ApplyMaskOp op) {
  const Array scores = array(op.getScores()), mask = array(op.getMask());
  if (failed(verifyBroadcasts(op, "mask", mask.shape, scores.shape)))
    return failure();
  FailureOr<Array> result = create(op.getResult(), scores.shape);
  if (failed(result))
    return failure();
  forEachRow(scores, [&](int64_t b, int64_t h, int64_t s) {
    ArrayRef<float> row = rowOf(scores, b, h, s);
    for (auto [t, score] : llvm::enumerate(rowOf(*result, b, h, s)))
      score = keeps(mask, b, h, s, t) ? row[t] : kMasked;
  });
  return success();
}

void tfm::softmax(MutableArrayRef<double> row) {
  double max = kMasked, sum = 0;
  for (double x : row)
    max = std::max(max, x);
  for (double &x : row) {
    // Without this test −inf − −inf would make NaN of a fully masked row.
    x = x == kMasked ? 0 : std::exp(x - max);
    sum += x;
  }
  if (sum != 0)
    for (double &x : row)
      x /= sum;
}

LogicalResult Frame::run(SoftmaxOp op) {
  const Array input = array(op.getInput());
  FailureOr<Array> result = create(op.getResult(), input.shape);
  if (failed(result))
    return failure();
  int64_t size = input.lastDim();
  for (int64_t row = 0, rows = input.rows(); row != rows; ++row) {
    auto scores = input.floats().slice(row * size, size);
    SmallVector<double> probabilities(scores.begin(), scores.end());
    softmax(probabilities);
    llvm::copy(probabilities, result->floats().slice(row * size).begin());
  }
  return success();
}

LogicalResult Frame::run(DropoutOp op) {
  return set(op.getResult(), content(op.getInput()));
}

LogicalResult Frame::run(MixOp op) {
  const Array probabilities = array(op.getProbabilities()),
              value = array(op.getValue());
  if (failed(verifyEqualDims(op, "probabilities and value", "batch B",
                             probabilities.shape[0], value.shape[0])) ||
      failed(verifyEqualDims(op, "probabilities and value", "length T",
                             probabilities.shape[3], value.shape[2])) ||
      failed(verifyGroupedHeads(op, probabilities.shape[1], value.shape[1])))
    return failure();
  FailureOr<Array> result =
      create(op.getResult(), {probabilities.shape[0], probabilities.shape[1],
                              probabilities.shape[2], value.shape[3]});
  if (failed(result))
    return failure();
  int64_t headsPerGroup = probabilities.shape[1] / value.shape[1];
  forEachRow(*result, [&](int64_t b, int64_t h, int64_t s) {
    Mixture mixture(value.shape[3]);
    for (auto [t, p] : llvm::enumerate(rowOf(probabilities, b, h, s)))
      mixture.add(p, rowOf(value, b, h / headsPerGroup, t));
    mixture.store(rowOf(*result, b, h, s));
  });
  return success();
}

//===----------------------------------------------------------------------===//
// The fused form
//===----------------------------------------------------------------------===//

void tfm::attend(int64_t keys, function_ref<double(int64_t)> score,
                 function_ref<ArrayRef<float>(int64_t)> value,
                 MutableArrayRef<float> result) {
  SmallVector<double> row;
  for (int64_t t = 0; t != keys; ++t)
    row.push_back(score(t));
  softmax(row);
  Mixture mixture(result.size());
  for (int64_t t = 0; t != keys; ++t)
    if (row[t] != 0)
      mixture.add(row[t], value(t));
  mixture.store(result);
}

LogicalResult Frame::run(AttentionOp op) {
  const Array query = array(op.getQuery()), key = array(op.getKey()),
              value = array(op.getValue());
  if (failed(verifyEqualDims(op, "query and key", "batch B", query.shape[0],
                             key.shape[0])) ||
      failed(verifyEqualDims(op, "key and value", "batch B", key.shape[0],
                             value.shape[0])) ||
      failed(verifyEqualDims(op, "query and key", "head size D", query.shape[3],
                             key.shape[3])) ||
      failed(verifyEqualDims(op, "key and value", "length T", key.shape[2],
                             value.shape[2])) ||
      failed(verifyEqualDims(op, "key and value", "number of heads G",
                             key.shape[1], value.shape[1])) ||
      failed(verifyGroupedHeads(op, query.shape[1], key.shape[1])))
    return failure();
  const std::array<int64_t, 4> scores = {query.shape[0], query.shape[1],
                                         query.shape[2], key.shape[2]};
  std::optional<Array> mask, bias;
  if (op.getMask()) {
    mask = array(op.getMask());
    if (failed(verifyBroadcasts(op, "mask", mask->shape, scores)))
      return failure();
  }
  if (op.getBias()) {
    bias = array(op.getBias());
    if (failed(verifyBroadcasts(op, "bias", bias->shape, scores)))
      return failure();
  }
  FailureOr<Array> result =
      create(op.getResult(),
             {query.shape[0], query.shape[1], query.shape[2], value.shape[3]});
  if (failed(result))
    return failure();

  int64_t headsPerGroup = query.shape[1] / key.shape[1];
  float scale = op.getScale().convertToFloat();
  forEachRow(*result, [&](int64_t b, int64_t h, int64_t s) {
    int64_t group = h / headsPerGroup;
    auto score = [&](int64_t t) -> double {
      if ((op.getCausal() && t > s) || !isNear(op.getWindow(), s, t) ||
          (mask && !keeps(*mask, b, h, s, t)))
        return kMasked;
      double x = scale * dot(rowOf(query, b, h, s), rowOf(key, b, group, t));
      return bias ? float(x) + broadcastAt<float>(*bias, b, h, s, t) : x;
    };
    attend(
        key.shape[2], score,
        [&](int64_t t) { return rowOf(value, b, group, t); },
        rowOf(*result, b, h, s));
  });
  return success();
}
