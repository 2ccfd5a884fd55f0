//===- EmitEmbedding.cpp - Tokens, positions and heads --------------------===//

#include "codegen/halide/Emitter.h"
#include <cmath>

using namespace mlir;
using namespace mlir::tfm;
using Halide::Expr;
using Halide::Func;
using Halide::Var;

void KernelEmitter::emit(EmbedOp op) {
  const Tensor &tokens = get(op.getTokens());
  Matrix table = getMatrix(op.getTable());
  Func result(uniqueName("embed"));
  Var e("e");
  std::vector<Var> at;
  for (size_t i = 0; i != tokens.extents.size(); ++i)
    at.emplace_back("r" + std::to_string(i));
  std::vector<Var> vars = at;
  vars.insert(vars.begin(), e);
  int words = table.type.getDimSize(0);
  Expr token = Halide::unsafe_promise_clamped(tokens.func(at), 0, words - 1);
  result(vars) = table.at(token, e, Matrix::Order::RowByRow);
  std::vector<Expr> extents = tokens.extents;
  extents.insert(extents.begin(), int(table.type.getDimSize(1)));
  set(op.getResult(), result, extents);
}

void KernelEmitter::emit(EmbedPositionsOp op) {
  const Tensor &tokens = get(op.getTokens());
  Matrix table = getMatrix(op.getTable());
  Func result(uniqueName("embed_positions"));
  Var e("e"), s("s"), b("b");
  Expr position = s + int(op.getStart());
  if (op.getOffsets())
    position += func(op.getOffsets())(b);
  int positions = table.type.getDimSize(0);
  position = Halide::unsafe_promise_clamped(position, 0, positions - 1);
  result(e, s, b) = table.at(position, e, Matrix::Order::RowByRow);
  set(op.getResult(), result,
      {Expr(int(table.type.getDimSize(1))), tokens.extents[0],
       tokens.extents[1]});
}

/// Cosine and sine of `angle`, at most 2^13 in magnitude, within 1e-7: the
/// argument less a multiple of pi/2, which is subtracted in three parts whose
/// products are exact, and the polynomials of Cephes (sinf.c).
static std::pair<Expr, Expr> turn(Expr angle) {
  Expr quarter = Halide::round(angle * float(2 / M_PI));
  Expr x = Halide::strict_float(
      ((angle - quarter * 1.5703125f) - quarter * 4.837512969970703125e-4f) -
      quarter * 7.549789948768648e-8f);
  Expr z = x * x;
  Expr sine = x + x * z *
                      (-1.6666654611e-1f +
                       z * (8.3321608736e-3f - z * 1.9515295891e-4f));
  Expr cosine = 1.0f - 0.5f * z +
                z * z *
                    (4.166664568298827e-2f +
                     z * (-1.388731625493765e-3f + z * 2.443315711809948e-5f));
  Expr turns = Halide::cast<int32_t>(quarter);
  Expr isOdd = (turns & 1) != 0;
  Expr first = Halide::select(isOdd, sine, cosine);
  Expr second = Halide::select(isOdd, cosine, sine);
  return {Halide::select(((turns + 1) & 2) != 0, -first, first),
          Halide::select((turns & 2) != 0, -second, second)};
}

void KernelEmitter::emit(RopeOp op) {
  const Tensor &input = get(op.getInput());
  int dims = op.getDims();
  int size = op.getInput().getType().getShape().back();
  bool isInterleaved = op.getStyle() == RopeStyle::Interleaved;
  double theta = op.getTheta().convertToDouble();
  Var d("d"), s("s"), h("h"), b("b"), i("i");

  // In f32, as those who train models do.
  Halide::Buffer<float> frequencies(std::vector<int>{dims / 2},
                                    uniqueName("frequencies"));
  for (int j = 0; j != dims / 2; ++j)
    frequencies(j) = float(std::pow(theta, -2.0 * j / dims));
  Expr position = s;
  if (op.getOffsets())
    position = func(op.getOffsets())(b) + s;
  auto [cosine, sine] = turn(Halide::cast<float>(position) * frequencies(i));
  Func angle(uniqueName("angle")), result(uniqueName("rope"));
  angle(i, s, b) = Halide::Tuple(cosine, sine);

  Expr pair, partner, isFirst;
  if (isInterleaved) {
    pair = d / 2;
    isFirst = d % 2 == 0;
    partner = d + 1 - 2 * (d % 2);
  } else {
    pair = d % (dims / 2);
    isFirst = d < dims / 2;
    partner = (d + dims / 2) % dims;
  }
  if (dims != size) {
    pair = Halide::clamp(pair, 0, dims / 2 - 1);
    partner = Halide::clamp(partner, 0, size - 1);
  }
  Expr x = input.func(d, s, h, b), y = input.func(partner, s, h, b);
  // Strict, so that it is always the other product that becomes an FMA.
  Expr ofPartner = Halide::strict_float(Halide::select(isFirst, -y, y) *
                                        angle(pair, s, b)[1]);
  Expr turned = x * angle(pair, s, b)[0] + ofPartner;
  result(d, s, h, b) =
      dims == size ? turned : Halide::select(d < dims, turned, x);
  rotations.push_back({angle, result, dims, size, isInterleaved});
  set(op.getResult(), result, input.extents);
}

void KernelEmitter::emit(SplitHeadsOp op) {
  const Tensor &input = get(op.getInput());
  int heads = op.getHeads();
  int size = op.getInput().getType().getShape().back() / heads;
  Func result(uniqueName("split_heads"));
  Var d("d"), s("s"), h("h"), b("b");
  result(d, s, h, b) = input.func(h * size + d, s, b);
  set(op.getResult(), result,
      {Expr(size), input.extents[1], Expr(heads), input.extents[2]});
}

void KernelEmitter::emit(MergeHeadsOp op) {
  const Tensor &input = get(op.getInput());
  ArrayRef<int64_t> shape = op.getInput().getType().getShape();
  int size = shape[3];
  Func result(uniqueName("merge_heads"));
  Var e("e"), s("s"), b("b");
  result(e, s, b) = input.func(e % size, s, e / size, b);
  set(op.getResult(), result,
      {Expr(int(shape[1]) * size), input.extents[1], input.extents[3]});
}

void KernelEmitter::emit(RepeatHeadsOp op) {
  const Tensor &input = get(op.getInput());
  int count = op.getCount();
  Func result(uniqueName("repeat_heads"));
  Var d("d"), s("s"), h("h"), b("b");
  result(d, s, h, b) = input.func(d, s, h / count, b);
  set(op.getResult(), result,
      {input.extents[0], input.extents[1], input.extents[2] * count,
       input.extents[3]});
}

void KernelEmitter::emit(TransposeOp op) {
  const Tensor &input = get(op.getInput());
  Func result(uniqueName("transpose"));
  Var i("i"), j("j"), h("h"), b("b");
  result(i, j, h, b) = input.func(j, i, h, b);
  set(op.getResult(), result,
      {input.extents[1], input.extents[0], input.extents[2], input.extents[3]});
}
