//===- ScheduleProducts.cpp - Loops of linear maps ------------------------===//
//
// A tile of a packed weight is 32 columns of the output. Few rows: a row at a
// time reads a tile once, in the order in which it is stored, so that memory
// sets the pace. Many rows: a tile of registers, several rows high, reads a
// tile that stays in the first cache.
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
constexpr int kTile = 32, kGroup = 8, kPanel = 16;
constexpr int kBlock = BlockType::kBlockSize;
/// Steps of a sum that are unrolled.
constexpr int kSteps = 4;
/// Blocks that are asked for in advance of their use.
constexpr int kPrefetch = 8;
/// Rows of a register tile: of integers, of f32 in two vectors of 8, and of f32
/// in one of 16.
constexpr int kIntegerRows = 8, kFloatRows = 6, kWideFloatRows = 8;
static_assert(kIntegerRows <= kManyRows && kFloatRows <= kManyRows &&
              kWideFloatRows <= kManyRows);
} // namespace

void KernelEmitter::scheduleIntegerProduct(const IntegerProduct &product,
                                           LoopLevel tile) {
  Func sum = product.sum, dot = product.dot, halves = product.halves;
  bool few = rows == Rows::Few;
  int height = few ? 1 : kIntegerRows, groups = few ? kTile / kGroup : 1;
  auto vars = [](Func f) { return f.args(); };

  Var i = vars(sum)[0], g = vars(sum)[1], r = vars(sum)[2];
  sum.compute_at(tile).bound_extent(g, groups).bound_extent(r, height);
  sum.vectorize(i).unroll(g).unroll(r);
  sum.update().reorder(i, g, r, product.block).vectorize(i).unroll(g).unroll(r);
  if (few)
    sum.update().prefetch(product.quants, product.block, product.block,
                          kPrefetch,
                          Halide::PrefetchBoundStrategy::NonFaulting);

  // A group at a time if there is one row, all rows of a group otherwise.
  LoopLevel step(sum, few ? Halide::VarOrRVar(g) : product.block);
  Var dotRow = vars(dot)[3];
  dot.compute_at(step).bound_extent(dotRow, height);
  dot.vectorize(vars(dot)[0]).unroll(dotRow);
  const Halide::RDom &inner = product.inner;
  if (product.offset.defined()) {
    Func offset = product.offset;
    offset.compute_at(sum, product.block);
  }
  if (!halves.defined()) {
    for (int update = 0; update != dot.num_update_definitions(); ++update)
      dot.update(update)
          .atomic(true)
          .reorder(inner.x, vars(dot)[0], dotRow, inner.y)
          .vectorize(inner.x)
          .vectorize(vars(dot)[0])
          .unroll(dotRow)
          .unroll(inner.y);
    return;
  }
  if (product.wide.defined()) {
    Func wide = product.wide;
    wide.compute_root().vectorize(wide.args()[0], kBlock);
  }
  dot.update()
      .atomic()
      .reorder(product.pair.x, vars(dot)[0], dotRow)
      .vectorize(product.pair.x)
      .vectorize(vars(dot)[0])
      .unroll(dotRow);
  Var h = vars(halves)[0], hi = vars(halves)[1], hr = vars(halves)[4];
  halves.compute_at(step).bound_extent(hr, height);
  halves.vectorize(h).vectorize(hi).unroll(hr);
  for (int update = 0; update != halves.num_update_definitions(); ++update)
    halves
        .update(update)
        // Saturation never happens, so that the order does not matter.
        .atomic(true)
        .reorder(inner.x, h, hi, hr, inner.y)
        .vectorize(inner.x)
        .vectorize(h)
        .vectorize(hi)
        .unroll(hr)
        .unroll(inner.y);
}

void KernelEmitter::scheduleFloatProduct(const FloatProduct &product,
                                         LoopLevel tile, LoopLevel panelLevel) {
  Func sum = product.sum, panel = product.panel;
  bool few = rows == Rows::Few;
  int lanes = hasAvx512() ? 16 : 8, panels = few ? kTile / kPanel : 1;
  int height = few ? 1 : hasAvx512() ? kWideFloatRows : kFloatRows;
  Var l = sum.args()[0], p = sum.args()[1], r = sum.args()[2];
  sum.compute_at(tile).bound_extent(p, panels).bound_extent(r, height);
  sum.vectorize(l, lanes).unroll(l).unroll(p).unroll(r);

  // LLVM keeps the order of the terms where each is a product of two loads, in
  // that order; weights that are words of several at once are converted first.
  Halide::RVar outer("ko"), step("ki");
  bool inPlace = product.isPacked && !product.isBlocked;
  int steps = unrolledSteps(product.size, kSteps);
  sum.update()
      .split(product.k, outer, step, steps)
      .reorder(l, p, r, step, outer)
      .vectorize(l, lanes)
      .unroll(l)
      .unroll(p)
      .unroll(r);
  if (few || inPlace)
    sum.update().unroll(step);
  if (inPlace)
    return;
  Var pl = panel.args()[0], pk = panel.args()[1], pp = panel.args()[2];
  if (!few) {
    // Once for all rows that use them.
    panel.compute_at(panelLevel);
  } else if (product.isBlocked) {
    Halide::RVar block("kb");
    sum.update().split(outer, block, outer, kBlock / steps);
    panel.compute_at(sum, block);
  } else {
    panel.compute_at(sum, outer);
  }
  panel.bound_extent(pl, kPanel)
      .reorder(pl, pk, pp)
      .vectorize(pl, 8)
      .unroll(pl)
      .unroll(pk, product.isBlocked ? kBlock : kSteps,
              TailStrategy::GuardWithIf);
}

void KernelEmitter::scheduleProducts() {
  Func out = outputs.front();
  Halide::OutputImageParam buffer = out.output_buffer();
  bool few = rows == Rows::Few, isInteger = !integerProducts.empty();
  int64_t columns =
      cast<RankedTensorType>(kernel.getResultTypes().front()).getShape().back();
  bool isWhole = columns % kTile == 0;
  buffer.dim(0).set_min(buffer.dim(0).min() / kTile * kTile);
  if (isWhole)
    buffer.dim(0).set_extent(buffer.dim(0).extent() / kTile * kTile);

  Var n = out.args()[0], r = out.args()[1];
  Var t("t"), n1("n1"), g("g"), i("i"), ro("ro"), ri("ri");
  int width = isInteger ? kGroup : kPanel;
  int lanes = hasAvx512() ? width : 8;
  out.split(n, t, n1, kTile,
            isWhole ? TailStrategy::RoundUp : TailStrategy::GuardWithIf)
      .split(n1, g, i, width);
  if (few) {
    out.reorder(i, g, r, t).vectorize(i, lanes).unroll(i).unroll(g);
    for (const IntegerProduct &product : integerProducts)
      scheduleIntegerProduct(product, LoopLevel(out, r));
    for (const FloatProduct &product : floatProducts)
      scheduleFloatProduct(product, LoopLevel(out, r), LoopLevel(out, t));
    return;
  }
  int height = isInteger     ? kIntegerRows
               : hasAvx512() ? kWideFloatRows
                             : kFloatRows;
  out.split(r, ro, ri, height, TailStrategy::ShiftInwards)
      .reorder(i, ri, g, ro, t)
      .vectorize(i, lanes)
      .unroll(i)
      .unroll(ri);
  for (const IntegerProduct &product : integerProducts)
    scheduleIntegerProduct(product, LoopLevel(out, g));
  for (const FloatProduct &product : floatProducts)
    scheduleFloatProduct(product, LoopLevel(out, g), LoopLevel(out, t));
}
