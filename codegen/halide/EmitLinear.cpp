//===- EmitLinear.cpp - Linear maps ---------------------------------------===//
//
// Products with packed weights. Every output is one sum in ascending order of k
// (f32) or of blocks (integers, exact inside of a block), whatever the tile, so
// that one row and many give the same bits.
//
//===----------------------------------------------------------------------===//

#include "codegen/halide/Emitter.h"

using namespace mlir;
using namespace mlir::tfm;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Var;

namespace {
constexpr int kBlock = BlockType::kBlockSize;
/// Rows of the weight in a group of a packed tile, and columns of a panel.
constexpr int kGroup = 8, kPanel = 16;
} // namespace

Expr Matrix::at(Expr n, Expr k, Order order) const {
  if (!isPacked)
    return toFloat(parts[0](k, Halide::min(n, int(type.getDimSize(0)) - 1)));
  auto block = dyn_cast<BlockType>(type.getElementType());
  if (!block)
    return toFloat(parts[0](n % kPanel, k, n / kPanel));
  Expr row = n % kGroup, group = n / kGroup % 4, tile = n / 32;
  Expr b = k / kBlock, i = k % kBlock;
  bool isByte = block.getFormat() == BlockFormat::Q8_0;
  Expr vector = isByte ? i / 4 : i % 16 / 4;
  auto byteAt = [&](Expr j) {
    return Halide::reinterpret<uint8_t>(
        parts[0](4 * row + j, vector, group, b, tile));
  };
  // A vector of rows is a vector of words of four neighbours.
  Expr word =
      order == Order::RowByRow
          ? Halide::cast<uint32_t>(byteAt(i % 4))
          : Halide::concat_bits({byteAt(0), byteAt(1), byteAt(2), byteAt(3)});
  Expr place = order == Order::RowByRow ? Expr(0) : i % 4;
  Expr quant;
  if (isByte)
    quant = Halide::reinterpret<int32_t>(word << (24 - 8 * place)) >> 24;
  else
    quant = Halide::reinterpret<int32_t>(
        (word >> (8 * place + Halide::select(i < kBlock / 2, 0, 4))) & 15u);
  quant = Halide::cast<float>(quant);

  // Strict, so that all kernels see the same weights.
  Expr scale = Halide::cast<float>(parts[1](row, group, b, tile));
  if (isByte)
    return Halide::strict_float(scale * quant);
  if (block.getFormat() == BlockFormat::Q4_0)
    return Halide::strict_float(scale * (quant - 8.0f));
  Expr min = Halide::cast<float>(parts[2](row, group, b, tile));
  return Halide::strict_float(scale * quant + min);
}

Matrix KernelEmitter::getMatrix(Value value) const {
  if (auto found = matrices.find(value); found != matrices.end())
    return found->second;
  return {cast<RankedTensorType>(value.getType()),
          {buffers.find(value)->second},
          /*isPacked=*/false};
}

/// A sum that is not reassociated with those inside of its terms.
static Expr strictAdd(Expr a, Expr b) {
  namespace ir = Halide::Internal;
  return ir::Call::make(a.type(), ir::Call::strict_add, {a, b},
                        ir::Call::PureIntrinsic);
}

void KernelEmitter::emit(UnpackOp op) {
  Matrix matrix = {op.getType(), {}, /*isPacked=*/true};
  for (Value part : op.getParts())
    matrix.parts.push_back(buffers.find(part)->second);
  matrices[op.getResult()] = matrix;
}

void KernelEmitter::emit(LinearOp op) {
  const Tensor &input = get(op.getInput());
  Matrix weight = getMatrix(op.getWeight());
  int size = weight.type.getDimSize(1);

  Var l("l"), k("k"), p("p"), r("r"), n("n");
  Func panel(uniqueName("panel")), sum(uniqueName("sum")),
      result(uniqueName("linear"));
  bool isBlocked = isa<BlockType>(weight.type.getElementType());
  Expr at = p;
  // Columns come two panels at a time, and there may be no second one.
  int panels = llvm::divideCeil(weight.type.getDimSize(0), kPanel);
  if (weight.isPacked && !isBlocked && panels % 2 != 0)
    at = Halide::min(p, panels - 1);
  panel(l, k, p) = weight.at(kPanel * at + l, k, Matrix::Order::ColumnByColumn);
  RDom inner(0, size, "k");
  sum(l, p, r) = 0.0f;
  sum(l, p, r) += input.func(inner, r) * panel(l, inner, p);
  Expr value = sum(n % kPanel, n / kPanel, r);
  if (op.getBias())
    value = Halide::strict_float(value + toFloat(func(op.getBias())(n)));
  result(n, r) = value;

  floatProducts.push_back(
      {sum, panel, inner.x, size, weight.isPacked, isBlocked});
  set(op.getResult(), result,
      {Expr(int(weight.type.getDimSize(0))), input.extents[1]});
}

void KernelEmitter::emit(QuantizedLinearOp op) {
  const Tensor &quants = get(op.getQuants());
  Func x = quants.func, scales = func(op.getScales()),
       sums = func(op.getSums());
  Matrix weight = getMatrix(op.getWeight());
  Halide::ImageParam packed = weight.parts[0];
  int blocks = weight.type.getDimSize(1) / kBlock;
  BlockFormat format =
      cast<BlockType>(weight.type.getElementType()).getFormat();
  bool hasDotProduct = target == InstructionSet::Avx512Vnni;

  IntegerProduct product;
  product.quants = packed;
  Var i("i"), b("b"), g("g"), r("r"), h("h"), n("n");
  Func dot(uniqueName("dot")), sum(uniqueName("sum")),
      result(uniqueName("quantized_linear"));

  if (format == BlockFormat::Q8_0) {
    if (hasDotProduct) {
      RDom inner(0, 4, 0, 8, "k");
      Expr w = packed(4 * i + inner.x, inner.y, g % 4, b, g / 4);
      Expr xk = x(kBlock * b + 4 * inner.y + inner.x, r);
      // vpdpbusd wants one unsigned factor: (w + 128) · x − 128 · x.
      Func offset(uniqueName("offset"));
      RDom j(0, kBlock, "j");
      offset(b, r) = 0;
      offset(b, r) += Halide::cast<int32_t>(x(kBlock * b + j, r));
      dot(i, b, g, r) = -128 * offset(b, r);
      dot(i, b, g, r) += Halide::cast<int32_t>(Halide::widening_mul(
          Halide::reinterpret<uint8_t>(w) ^ Halide::cast<uint8_t>(128), xk));
      product.offset = offset;
      product.inner = inner;
    } else {
      // vpmaddwd adds two neighbours, h = 0 and 1, of 16 bits.
      Func halves(uniqueName("halves")), wide(uniqueName("wide"));
      RDom inner(0, 2, 0, 8, "k"), pair(0, 2, "pair");
      Var k("k");
      wide(k, r) = Halide::cast<int16_t>(x(k, r));
      Expr w = packed(4 * i + 2 * h + inner.x, inner.y, g % 4, b, g / 4);
      Expr xk = wide(kBlock * b + 4 * inner.y + 2 * h + inner.x, r);
      halves(h, i, b, g, r) = 0;
      halves(h, i, b, g, r) += Halide::cast<int32_t>(Halide::cast<int16_t>(w)) *
                               Halide::cast<int32_t>(xk);
      dot(i, b, g, r) = 0;
      dot(i, b, g, r) += halves(pair, i, b, g, r);
      product.halves = halves;
      product.wide = wide;
      product.inner = inner;
      product.pair = pair;
    }
  } else if (hasDotProduct) {
    RDom inner(0, 4, 0, 4, "k");
    Expr w = packed(4 * i + inner.x, inner.y, g % 4, b, g / 4);
    Expr k = kBlock * b + 4 * inner.y + inner.x;
    dot(i, b, g, r) = 0;
    dot(i, b, g, r) += Halide::cast<int32_t>(
        Halide::widening_mul(w & Halide::cast<uint8_t>(15), x(k, r)));
    dot(i, b, g, r) += Halide::cast<int32_t>(
        Halide::widening_mul(w >> Halide::cast<uint8_t>(4), x(k + 16, r)));
    product.inner = inner;
  } else {
    // vpmaddubsw adds two neighbours, h = 0 and 1, to 16 bits, which holds 16
    // of them: 8 · 2 · 15 · 127 < 2^15.
    Func halves(uniqueName("halves"));
    RDom inner(0, 2, 0, 4, "k"), pair(0, 2, "pair");
    Expr w = packed(4 * i + 2 * h + inner.x, inner.y, g % 4, b, g / 4);
    Expr k = kBlock * b + 4 * inner.y + 2 * h + inner.x;
    halves(h, i, b, g, r) = Halide::cast<int16_t>(0);
    halves(h, i, b, g, r) = Halide::saturating_add(
        halves(h, i, b, g, r),
        Halide::widening_mul(w & Halide::cast<uint8_t>(15), x(k, r)));
    halves(h, i, b, g, r) = Halide::saturating_add(
        halves(h, i, b, g, r),
        Halide::widening_mul(w >> Halide::cast<uint8_t>(4), x(k + 16, r)));
    dot(i, b, g, r) = 0;
    dot(i, b, g, r) += Halide::cast<int32_t>(halves(pair, i, b, g, r));
    product.halves = halves;
    product.inner = inner;
    product.pair = pair;
  }

  // Each step in a form that can be evaluated in one way only: what is strict
  // stays as written, and the one product that is not becomes part of an FMA.
  using Halide::strict_float;
  RDom block(0, blocks, "block");
  Expr scale = Halide::cast<float>(weight.parts[1](i, g % 4, block, g / 4));
  Expr whole =
      strict_float(scales(block, r) * Halide::cast<float>(dot(i, block, g, r)));
  Expr ofBlock = sums(block, r);
  sum(i, g, r) = 0.0f;
  if (format == BlockFormat::Q4_0) {
    sum(i, g, r) += scale * strict_float(whole - 8.0f * ofBlock);
  } else if (format == BlockFormat::Q4_1) {
    Expr min = Halide::cast<float>(weight.parts[2](i, g % 4, block, g / 4));
    Expr share = scale * whole + strict_float(min * ofBlock);
    sum(i, g, r) = strictAdd(sum(i, g, r), share);
  } else {
    sum(i, g, r) += scale * whole;
  }
  result(n, r) = sum(n % kGroup, n / kGroup, r);

  product.sum = sum;
  product.dot = dot;
  product.block = block.x;
  integerProducts.push_back(product);
  set(op.getResult(), result,
      {Expr(int(weight.type.getDimSize(0))), quants.extents[1]});
}
