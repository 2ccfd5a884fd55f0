//===- EmitAttention.cpp - Attention and its cache ------------------------===//
//
// Fused attention works on blocks of query rows that share a key head: the
// scores of all keys that the block may see, their largest, the weights, and
// the mixed values. Keys and values come in tiles of 64 positions that start
// at position 0. Every sum has a fixed order: a score over d, a row's total in
// 8 interleaved parts, the mix over the keys of a tile and then over tiles.
// Tiles and keys that a row does not see add exact zeros. So a row's bits
// depend neither on the block around it nor on how many rows there are.
//
//===----------------------------------------------------------------------===//

#include "codegen/halide/Emitter.h"
#include "runtime/include/tfm_abi.h"

using namespace mlir;
using namespace mlir::tfm;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Var;

namespace {
constexpr int kTile = TFM_CACHE_TILE, kLanes = 8;
/// Stands for the score of a masked key. No score of numbers comes near it, and
/// differences of it are finite.
constexpr float kMasked = -1e38f;
/// Queries of a block of rows, if there are many.
constexpr int kQueries = 8;
} // namespace

//===----------------------------------------------------------------------===//
// Step by step
//===----------------------------------------------------------------------===//

/// Key head of query head `h`.
static Expr groupOf(Expr h, Value query, Value key) {
  int64_t heads = cast<RankedTensorType>(query.getType()).getDimSize(1);
  int64_t groups = cast<RankedTensorType>(key.getType()).getDimSize(1);
  return h / int(heads / groups);
}

void KernelEmitter::emit(ScoresOp op) {
  const Tensor &query = get(op.getQuery()), &key = get(op.getKey());
  int size = op.getQuery().getType().getDimSize(3);
  Func result(uniqueName("scores"));
  Var t("t"), s("s"), h("h"), b("b");
  RDom d(0, size, "d");
  result(t, s, h, b) = 0.0f;
  result(t, s, h, b) +=
      query.func(d, s, h, b) *
      key.func(d, t, groupOf(h, op.getQuery(), op.getKey()), b);
  intermediates.push_back({result, {}});
  set(op.getResult(), result,
      {key.extents[1], query.extents[1], query.extents[2], query.extents[3]});
}

/// Masked scores are −infinity, which f32 arithmetic must not meet.
static Expr isMasked(Expr score) {
  return Halide::reinterpret<uint32_t>(score) == Expr(0xff800000u);
}

void KernelEmitter::emit(SoftmaxOp op) {
  const Tensor &input = get(op.getInput());
  std::vector<Var> row;
  for (size_t i = 1; i != input.extents.size(); ++i)
    row.emplace_back("r" + std::to_string(i));
  auto at = [&](Expr first) {
    std::vector<Expr> all = {first};
    all.insert(all.end(), row.begin(), row.end());
    return all;
  };
  Var t("t");
  Func largest(uniqueName("largest")), total(uniqueName("total")),
      weight(uniqueName("weight")), result(uniqueName("softmax"));
  RDom key(0, input.extents[0], "key");
  Expr seen = input.func(at(key));
  largest(row) = kMasked;
  largest(row) =
      Halide::max(largest(row), Halide::select(isMasked(seen), kMasked, seen));
  Expr x = input.func(at(t));
  std::vector<Var> vars = row;
  vars.insert(vars.begin(), t);
  weight(vars) = Halide::select(
      isMasked(x), 0.0f, Halide::exp(Halide::min(x - largest(row), 0.0f)));
  total(row) = 0.0f;
  total(row) += weight(at(key));
  result(vars) =
      Halide::select(total(row) > 0.0f, weight(vars) / total(row), 0.0f);
  intermediates.insert(intermediates.end(), {{largest, {}}, {total, {}}});
  set(op.getResult(), result, input.extents);
}

void KernelEmitter::emit(MixOp op) {
  const Tensor &probabilities = get(op.getProbabilities());
  const Tensor &value = get(op.getValue());
  Func result(uniqueName("mix"));
  Var d("d"), s("s"), h("h"), b("b");
  RDom key(0, value.extents[1], "key");
  Expr group = groupOf(h, op.getProbabilities(), op.getValue());
  result(d, s, h, b) = 0.0f;
  result(d, s, h, b) +=
      probabilities.func(key, s, h, b) * value.func(d, key, group, b);
  intermediates.push_back({result, {}});
  set(op.getResult(), result,
      {value.extents[0], probabilities.extents[1], probabilities.extents[2],
       probabilities.extents[3]});
}

//===----------------------------------------------------------------------===//
// Fused
//===----------------------------------------------------------------------===//

struct KernelEmitter::AttentionOperands {
  Tensor query;
  /// Elements as f32, by position in the tile, d, tile, key head, sample.
  std::function<Expr(Expr t, Expr d, Expr tile, Expr g, Expr b)> key, value;
  /// Query `s` of sample `b` may see the keys before `end`, from `first` on,
  /// which is empty if that is always 0.
  std::function<Expr(Expr s, Expr b)> first, end;
  /// Whether query `s` sees key `t` as well, and what is added to their score;
  /// may be empty.
  std::function<Expr(Expr t, Expr s, Expr h, Expr b)> mask, bias;
  Expr tiles;
  int64_t heads, groups, keySize, valueSize;
  float scale;
};

void KernelEmitter::emitAttention(Value result,
                                  const AttentionOperands &operands) {
  int shared = operands.heads / operands.groups;
  int queries = rows == Rows::Few ? 1 : kQueries;
  Expr length = operands.query.extents[1];
  Var d("d"), t("t"), q("q"), j("j"), tile("tile"), g("g"), n("n"), b("b"),
      lane("lane");
  // A block may end behind the last query: its rows repeat that.
  auto queryAt = [&](Expr n, Expr q) {
    Expr s = n * queries + q;
    return queries == 1 ? s : Halide::min(s, length - 1);
  };

  Func query(uniqueName("query")), keys(uniqueName("keys")),
      values(uniqueName("values"));
  // Strict, so that the scale is not taken out of a short sum over d.
  query(d, q, j, g, n, b) = Halide::strict_float(
      operands.query.func(d, queryAt(n, q), g * shared + j, b) *
      operands.scale);
  keys(t, d, tile, g, b) = operands.key(t, d, tile, g, b);
  values(d, t, tile, g, b) = operands.value(t, d, tile, g, b);

  Func product(uniqueName("product")), score(uniqueName("score"));
  RDom depth(0, int(operands.keySize), "depth");
  product(t, q, j, tile, g, n, b) = 0.0f;
  product(t, q, j, tile, g, n, b) +=
      query(depth, q, j, g, n, b) * keys(t, depth, tile, g, b);
  Expr key = tile * kTile + t;
  Expr keep = key < operands.end(queryAt(n, q), b);
  if (operands.first)
    keep = keep && key >= operands.first(queryAt(n, q), b);
  if (operands.mask)
    keep = keep && operands.mask(key, queryAt(n, q), g * shared + j, b);
  Expr kept = product(t, q, j, tile, g, n, b);
  if (operands.bias) {
    Expr bias = operands.bias(key, queryAt(n, q), g * shared + j, b);
    keep = keep && !isMasked(bias);
    // Below this, scores are equal: the bias absorbs them.
    kept += Halide::max(bias, 0.1f * kMasked);
  }
  score(t, q, j, tile, g, n, b) = Halide::select(keep, kept, kMasked);

  // The first row of a block sees the first keys, the last row the last ones.
  Expr end = operands.end(queryAt(n, queries - 1), b);
  Expr firstTile = 0;
  if (operands.first)
    firstTile = Halide::min(operands.first(queryAt(n, 0), b), end - 1) / kTile;
  auto isInSight = [=, isAllFromZero = !operands.first](Expr tile) {
    Expr startsBeforeEnd = tile * kTile < end;
    return isAllFromZero ? startsBeforeEnd
                         : startsBeforeEnd && tile >= firstTile;
  };
  // Says the same, for the bounds of what is computed.
  auto inSight = [=](Expr tile) {
    return Halide::clamp(tile, firstTile, (end - 1) / kTile);
  };
  RDom each(0, kTile / kLanes, 0, operands.tiles, "each");
  each.where(isInSight(each.y));
  auto reduceLanes = [&](Func lanes, Expr (*combine)(Expr, Expr)) {
    auto at = [&](int i) { return Expr(lanes(i, q, j, g, n, b)); };
    Expr halves[4];
    for (int i = 0; i != 4; ++i)
      halves[i] = combine(at(i), at(i + 4));
    return combine(combine(halves[0], halves[2]),
                   combine(halves[1], halves[3]));
  };

  Func largestLanes(uniqueName("largest_lanes")),
      largest(uniqueName("largest"));
  largestLanes(lane, q, j, g, n, b) = kMasked;
  largestLanes(lane, q, j, g, n, b) = Halide::max(
      largestLanes(lane, q, j, g, n, b),
      score(kLanes * each.x + lane, q, j, inSight(each.y), g, n, b));
  largest(q, j, g, n, b) = reduceLanes(
      largestLanes, [](Expr a, Expr b) { return Halide::max(a, b); });

  Func weight(uniqueName("weight"));
  Expr x = score(t, q, j, tile, g, n, b);
  weight(t, q, j, tile, g, n, b) = Halide::select(
      x > 0.5f * kMasked, Halide::exp(x - largest(q, j, g, n, b)), 0.0f);

  Func lanes(uniqueName("lanes")), total(uniqueName("total"));
  lanes(lane, q, j, g, n, b) = 0.0f;
  lanes(lane, q, j, g, n, b) +=
      weight(kLanes * each.x + lane, q, j, inSight(each.y), g, n, b);
  total(q, j, g, n, b) = Halide::strict_float(
      reduceLanes(lanes, [](Expr a, Expr b) { return a + b; }));

  Func mix(uniqueName("mix")), mixed(uniqueName("mixed"));
  RDom inTile(0, kTile, "in_tile"), tileOfMix(0, operands.tiles, "tile_of_mix");
  tileOfMix.where(isInSight(tileOfMix.x));
  mix(d, q, j, tile, g, n, b) = 0.0f;
  mix(d, q, j, tile, g, n, b) +=
      weight(inTile, q, j, tile, g, n, b) * values(d, inTile, tile, g, b);
  mixed(d, q, j, g, n, b) = 0.0f;
  mixed(d, q, j, g, n, b) += mix(d, q, j, inSight(tileOfMix.x), g, n, b);

  Func out(uniqueName("attention"));
  Var s("s"), h("h");
  Expr row = total(s % queries, h % shared, h / shared, s / queries, b);
  out(d, s, h, b) = Halide::select(
      row > 0.0f,
      mixed(d, s % queries, h % shared, h / shared, s / queries, b) / row,
      0.0f);

  AttentionProduct attention;
  attention.query = query;
  attention.keys = keys;
  attention.values = values;
  attention.product = product;
  attention.score = score;
  attention.largestLanes = largestLanes;
  attention.largest = largest;
  attention.weight = weight;
  attention.lanes = lanes;
  attention.total = total;
  attention.mix = mix;
  attention.mixed = mixed;
  attention.depth = depth.x;
  attention.step = each.x;
  attention.tileOfStep = each.y;
  attention.key = inTile.x;
  attention.tileOfMix = tileOfMix.x;
  attention.queries = queries;
  attention.heads = shared;
  attention.keySize = operands.keySize;
  attention.valueSize = operands.valueSize;
  attentions.push_back(attention);
  set(result, out,
      {Expr(int(operands.valueSize)), length, operands.query.extents[2],
       operands.query.extents[3]});
}

/// The first position that a query at `position` sees.
static Expr startOfWindow(Expr position, uint64_t window) {
  return Halide::max(position + 1 - clampWindow(window), 0);
}

void KernelEmitter::emit(AttentionOp op) {
  const Tensor key = get(op.getKey()), value = get(op.getValue());
  Expr keys = key.extents[1];
  AttentionOperands operands;
  operands.query = get(op.getQuery());
  auto inRange = [=](Expr t, Expr tile) {
    return Halide::min(tile * kTile + t, keys - 1);
  };
  operands.key = [=](Expr t, Expr d, Expr tile, Expr g, Expr b) -> Expr {
    return key.func(d, inRange(t, tile), g, b);
  };
  operands.value = [=](Expr t, Expr d, Expr tile, Expr g, Expr b) -> Expr {
    return value.func(d, inRange(t, tile), g, b);
  };
  bool isCausal = op.getCausal();
  std::optional<uint64_t> window = op.getWindow();
  operands.end = [=](Expr s, Expr) -> Expr {
    if (isCausal)
      return Halide::min(s + 1, keys);
    return window ? Halide::min(s + clampWindow(*window), keys) : keys;
  };
  if (window)
    operands.first = [=](Expr s, Expr) { return startOfWindow(s, *window); };
  auto overScores = [=, this](Value value) {
    return [=, this](Expr t, Expr s, Expr h, Expr b) {
      return broadcast(value, {Halide::min(t, keys - 1), s, h, b});
    };
  };
  if (op.getMask())
    operands.mask = overScores(op.getMask());
  if (op.getBias())
    operands.bias = overScores(op.getBias());
  operands.tiles = (keys + kTile - 1) / kTile;
  operands.heads = op.getQuery().getType().getDimSize(1);
  operands.groups = op.getKey().getType().getDimSize(1);
  operands.keySize = op.getKey().getType().getDimSize(3);
  operands.valueSize = op.getValue().getType().getDimSize(3);
  operands.scale = op.getScale().convertToFloat();
  emitAttention(op.getResult(), operands);
}

void KernelEmitter::emit(CacheAttentionOp op) {
  CacheBuffers cache = caches.find(op.getCache())->second;
  KvCacheType type = op.getCache().getType();
  AttentionOperands operands;
  operands.query = get(op.getQuery());
  operands.key = [=](Expr t, Expr d, Expr tile, Expr g, Expr b) -> Expr {
    return Halide::cast<float>(cache.keys(t, d, tile, g, b));
  };
  operands.value = [=](Expr t, Expr d, Expr tile, Expr g, Expr b) -> Expr {
    return Halide::cast<float>(cache.values(d, tile * kTile + t, g, b));
  };
  lengths = cache.lengths.name();
  Expr length = this->length;
  operands.end = [=](Expr s, Expr) -> Expr { return length + s + 1; };
  if (std::optional<uint64_t> window = op.getWindow())
    operands.first = [=](Expr s, Expr) {
      return startOfWindow(length + s, *window);
    };
  operands.tiles = Halide::ImageParam(cache.keys).dim(2).extent();
  operands.heads = op.getQuery().getType().getDimSize(1);
  operands.groups = type.getHeads();
  operands.keySize = type.getKeySize();
  operands.valueSize = type.getValueSize();
  operands.scale = op.getScale().convertToFloat();
  emitAttention(op.getResult(), operands);
}

void KernelEmitter::emit(CacheAppendOp op) {
  CacheBuffers cache = caches.find(op.getCache())->second;
  const Tensor &key = get(op.getKey()), &value = get(op.getValue());
  KvCacheType type = op.getCache().getType();
  Halide::Type element = cache.keys.type();
  Func keys(uniqueName("new_keys")), values(uniqueName("new_values"));
  Var t("t"), d("d"), tile("tile"), g("g"), b("b");
  RDom ofKey(0, int(type.getKeySize()), 0, key.extents[1], "of_key");
  RDom ofValue(0, int(type.getValueSize()), 0, value.extents[1], "of_value");

  lengths = cache.lengths.name();
  Expr position = length + ofKey.y;
  keys(t, d, tile, g, b) = Halide::undef(element);
  keys(position % kTile, ofKey.x, position / kTile, g, b) =
      Halide::cast(element, key.func(ofKey.x, ofKey.y, g, b));
  values(d, t, g, b) = Halide::undef(element);
  values(ofValue.x, length + ofValue.y, g, b) =
      Halide::cast(element, value.func(ofValue.x, ofValue.y, g, b));
  appends.push_back({op.getResult(), keys, values, ofKey.x, ofKey.y, ofValue.x,
                     type.getValueSize()});
}
