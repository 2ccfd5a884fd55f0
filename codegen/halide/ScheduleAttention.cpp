//===- ScheduleAttention.cpp - Loops of attention -------------------------===//
//
// Everything is computed for one block of rows at a time. Products are tiles of
// registers: rows times vectors of keys (scores) or of d (mix). With many rows
// a tile of the cache is converted to f32 once for all of them.
//
//===----------------------------------------------------------------------===//

#include "codegen/halide/Emitter.h"

using namespace mlir;
using namespace mlir::tfm;
using Halide::Func;
using Halide::LoopLevel;
using Halide::TailStrategy;
using Halide::Var;

namespace {
constexpr int kTile = 64;
/// Parts of a sum over keys.
constexpr int kParts = 8;
/// Sums that a register tile holds.
constexpr int kSums = 12;
/// Steps of a sum that are unrolled.
constexpr int kSteps = 4;
} // namespace

static int largestDivisor(int number, int atMost) {
  for (int divisor = atMost; divisor > 1; --divisor)
    if (number % divisor == 0)
      return divisor;
  return 1;
}

void KernelEmitter::scheduleAttention(const AttentionProduct &attention) {
  Func out = outputs.front();
  Halide::OutputImageParam buffer = out.output_buffer();
  int queries = attention.queries, heads = attention.heads;
  int valueSize = attention.valueSize;
  int lanes = hasAvx512() ? 16 : 8; // of keys
  int width = vectorWidth(valueSize, lanes);

  // Blocks of rows.
  bool isMerged = out.dimensions() == 3;
  Var s = out.args()[1], b = out.args().back();
  Var g("g"), j("j"), d("d"), q("q"), n("n"), rest("rest");
  int headDim = isMerged ? 0 : 2;
  int headSize = isMerged ? heads * valueSize : heads;
  buffer.dim(headDim)
      .set_min(buffer.dim(headDim).min() / headSize * headSize)
      .set_extent(buffer.dim(headDim).extent() / headSize * headSize);
  buffer.dim(1).set_min(buffer.dim(1).min() / queries * queries);
  if (isMerged) {
    out.split(out.args()[0], g, rest, headSize).split(rest, j, d, valueSize);
  } else {
    d = out.args()[0];
    out.bound(d, 0, valueSize).split(out.args()[2], g, j, heads);
  }
  out.split(s, n, q, queries, TailStrategy::GuardWithIf)
      .reorder(d, q, j, n, g, b)
      .vectorize(d, width);
  LoopLevel block(out, n);

  // Rows of a register tile are queries, or heads if there is one query.
  int rowTile = queries > 1 ? 4 : largestDivisor(heads, 4);
  auto tileRows = [&](Halide::Stage stage, Var qv, Var jv, Var qi, Var outer) {
    if (queries > 1)
      stage.split(qv, outer, qi, rowTile);
    else
      stage.split(jv, outer, qi, rowTile);
  };

  Func query = attention.query;
  query.compute_at(block).bound(query.args()[0], 0, attention.keySize);
  for (const Rotation &rotation : rotations) {
    Func angle = rotation.turn;
    angle.compute_at(block).vectorize(angle.args()[0],
                                      vectorWidth(rotation.dims / 2));
  }
  // Keys are rotated here, too, if there is no cache.
  if (llvm::any_of(rotations, [](const Rotation &rotation) {
        return rotation.isInterleaved;
      })) {
    Var pair("pair"), element("element");
    query.split(query.args()[0], pair, element, 2)
        .reorder(element, pair)
        .unroll(element)
        .vectorize(pair, vectorWidth(attention.keySize / 2));
  }
  if (rotations.empty())
    query.vectorize(query.args()[0], vectorWidth(attention.keySize));

  for (Func f :
       {attention.query, attention.product, attention.score,
        attention.largestLanes, attention.largest, attention.weight,
        attention.lanes, attention.total, attention.mix, attention.mixed})
    f.bound_extent(f.args()[f.dimensions() - 2], 1) // one block
        .never_partition_all();
  out.never_partition_all();

  // Scores: vectors of keys.
  Func score = attention.score, product = attention.product;
  Var t = score.args()[0], tile = score.args()[3];
  Var to("to"), ti("ti"), ri("ri"), ro("ro");
  int keyTile = lanes * largestDivisor(kTile / lanes, kSums / rowTile);
  score.compute_at(block).bound_extent(t, kTile);
  score.split(t, to, ti, keyTile);
  tileRows(Halide::Stage(score), score.args()[1], score.args()[2], ri, ro);
  Var whole = queries > 1 ? score.args()[2] : score.args()[1];
  score.reorder(ti, ri, to, ro, whole, tile)
      .vectorize(ti, lanes)
      .unroll(ti)
      .unroll(ri);
  Var rowVar = product.args()[queries > 1 ? 1 : 2];
  product.compute_at(score, to)
      .bound_extent(product.args()[0], keyTile)
      .bound_extent(rowVar, rowTile)
      .vectorize(product.args()[0], lanes)
      .unroll(product.args()[0])
      .unroll(rowVar);
  product.update()
      .reorder(product.args()[0], rowVar, attention.depth)
      .vectorize(product.args()[0], lanes)
      .unroll(product.args()[0])
      .unroll(rowVar)
      .unroll(attention.depth, unrolledSteps(attention.keySize, kSteps));
  if (queries > 1) {
    Func keys = attention.keys;
    keys.compute_at(score, tile)
        .bound_extent(keys.args()[0], kTile)
        .vectorize(keys.args()[0], lanes);
  }

  // Softmax: vectors of keys.
  for (Func part : {attention.largestLanes, attention.lanes}) {
    part.compute_at(block)
        .bound_extent(part.args()[0], kParts)
        .vectorize(part.args()[0]);
    part.update()
        .reorder(part.args()[0], attention.step, part.args()[1], part.args()[2],
                 attention.tileOfStep)
        .vectorize(part.args()[0])
        .unroll(attention.step);
  }
  Func largest = attention.largest, total = attention.total;
  largest.compute_at(block);
  total.compute_at(block);
  Func weight = attention.weight;
  weight.compute_at(block)
      .bound_extent(weight.args()[0], kTile)
      .vectorize(weight.args()[0], lanes);

  // Mix: vectors of d.
  Func mixed = attention.mixed, mix = attention.mix;
  Var md = mixed.args()[0], mdo("do"), mdi("di"), mri("ri"), mro("ro");
  int depthTile = width * largestDivisor(valueSize / width, kSums / rowTile);
  mixed.compute_at(block).bound(md, 0, valueSize).vectorize(md, width);
  Halide::Stage update = mixed.update();
  update.split(md, mdo, mdi, depthTile);
  tileRows(update, mixed.args()[1], mixed.args()[2], mri, mro);
  Var wholeMix = mixed.args()[queries > 1 ? 2 : 1];
  update.reorder(mdi, mri, mdo, mro, wholeMix, attention.tileOfMix)
      .vectorize(mdi, width)
      .unroll(mdi)
      .unroll(mri);
  Var mixRow = mix.args()[queries > 1 ? 1 : 2];
  mix.compute_at(mixed, mdo)
      .bound_extent(mix.args()[0], depthTile)
      .bound_extent(mixRow, rowTile)
      .vectorize(mix.args()[0], width)
      .unroll(mix.args()[0])
      .unroll(mixRow);
  mix.update()
      .reorder(mix.args()[0], mixRow, attention.key)
      .vectorize(mix.args()[0], width)
      .unroll(mix.args()[0])
      .unroll(mixRow)
      // The compiler would make vectors of the steps of a scalar sum.
      .unroll(attention.key, width > 1 ? kSteps : 1);
  if (queries > 1) {
    Func values = attention.values;
    values.compute_at(mixed, attention.tileOfMix)
        .bound_extent(values.args()[0], valueSize)
        .vectorize(values.args()[0], width);
  }
}

void KernelEmitter::scheduleAppend() {
  for (Append &append : appends) {
    append.values.update().vectorize(append.valueDepth,
                                     vectorWidth(append.valueSize));
    for (Rotation &rotation : rotations) {
      LoopLevel row(append.keys, append.row);
      Func rotated = rotation.rotated;
      rotated.compute_at(row).bound(rotated.args()[0], 0, int(rotation.size));
      rotation.turn.compute_at(row).vectorize(rotation.turn.args()[0],
                                              vectorWidth(rotation.dims / 2));
      if (!rotation.isInterleaved)
        continue;
      Var pair("pair"), element("element");
      rotated.split(rotated.args()[0], pair, element, 2)
          .reorder(element, pair)
          .unroll(element)
          .vectorize(pair, vectorWidth(rotation.size / 2));
    }
  }
}
