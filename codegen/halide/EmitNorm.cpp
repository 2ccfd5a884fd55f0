//===- EmitNorm.cpp - Work on whole rows ----------------------------------===//

#include "codegen/halide/Emitter.h"

using namespace mlir;
using namespace mlir::tfm;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Var;

/// Index variables of the dimensions above the innermost.
static std::vector<Var> outerVars(const Tensor &tensor) {
  std::vector<Var> vars;
  for (size_t i = 1; i != tensor.extents.size(); ++i)
    vars.emplace_back("r" + std::to_string(i));
  return vars;
}

template <typename First>
static std::vector<Expr> prepend(First first, const std::vector<Var> &rest) {
  std::vector<Expr> all = {Expr(first)};
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

Func KernelEmitter::sumRows(const Tensor &input, int size, StringRef name,
                            function_ref<Expr(std::vector<Expr>)> term) {
  int lanes = vectorWidth(size);
  std::vector<Var> row = outerVars(input);
  Var lane("lane");
  Func partial(uniqueName("partial")), sum(uniqueName(name));
  RDom step(0, size / lanes, "step"), each(0, lanes, "each");
  std::vector<Var> laneRow = row;
  laneRow.insert(laneRow.begin(), lane);
  partial(laneRow) = 0.0f;
  partial(laneRow) += term(prepend(lanes * step + lane, row));
  sum(row) = 0.0f;
  sum(row) += partial(prepend(each, row));
  intermediates.insert(intermediates.end(), {{partial, {}}, {sum, {}}});
  return sum;
}

void KernelEmitter::emit(RmsNormOp op) {
  const Tensor &input = get(op.getInput());
  int size = op.getInput().getType().getShape().back();
  std::vector<Var> row = outerVars(input);
  Var e("e");
  Func squares = sumRows(input, size, "squares", [&](std::vector<Expr> at) {
    Expr x = input.func(at);
    return x * x;
  });
  Func inverse(uniqueName("inverse")), result(uniqueName("rms_norm"));
  inverse(row) = 1.0f / Halide::sqrt(squares(row) / float(size) +
                                     op.getEpsilon().convertToFloat());
  intermediates.push_back({inverse, {}});
  std::vector<Var> vars = row;
  vars.insert(vars.begin(), e);
  result(vars) =
      input.func(vars) * inverse(row) * toFloat(func(op.getGain())(e));
  set(op.getResult(), result, input.extents);
}

void KernelEmitter::emit(LayerNormOp op) {
  const Tensor &input = get(op.getInput());
  int size = op.getInput().getType().getShape().back();
  std::vector<Var> row = outerVars(input);
  Var e("e");
  // Kept: the row may be the sum of several, and is read three times.
  Func values(uniqueName("values"));
  std::vector<Var> vars = row;
  vars.insert(vars.begin(), e);
  values(vars) = input.func(vars);
  intermediates.push_back({values, {}, size});
  Func sum = sumRows(input, size, "sum",
                     [&](std::vector<Expr> at) { return values(at); });
  Func mean(uniqueName("mean"));
  mean(row) = sum(row) / float(size);
  intermediates.push_back({mean, {}});
  Func squares = sumRows(input, size, "squares", [&](std::vector<Expr> at) {
    Expr x = values(at) - mean(row);
    return x * x;
  });
  Func inverse(uniqueName("inverse")), result(uniqueName("layer_norm"));
  inverse(row) = 1.0f / Halide::sqrt(squares(row) / float(size) +
                                     op.getEpsilon().convertToFloat());
  intermediates.push_back({inverse, {}});
  Expr normal = (values(vars) - mean(row)) * inverse(row) *
                toFloat(func(op.getGain())(e));
  result(vars) =
      op.getBias() ? normal + toFloat(func(op.getBias())(e)) : normal;
  set(op.getResult(), result, input.extents);
}

void KernelEmitter::emit(L2NormalizeOp op) {
  const Tensor &input = get(op.getInput());
  int size = op.getInput().getType().getShape().back();
  std::vector<Var> row = outerVars(input), vars = row;
  vars.insert(vars.begin(), Var("e"));
  Func squares = sumRows(input, size, "squares", [&](std::vector<Expr> at) {
    Expr x = input.func(at);
    return x * x;
  });
  Func inverse(uniqueName("inverse")), result(uniqueName("l2_normalize"));
  inverse(row) = 1.0f / Halide::max(Halide::sqrt(squares(row)),
                                    op.getEpsilon().convertToFloat());
  intermediates.push_back({inverse, {}});
  result(vars) = input.func(vars) * inverse(row);
  set(op.getResult(), result, input.extents);
}

/// A text's rows are added in order, whatever its neighbours are.
void KernelEmitter::emit(PoolOp op) {
  const Tensor &input = get(op.getInput());
  Var e("e"), b("b");
  Func result(uniqueName("pool"));
  if (op.getKind() == PoolKind::First) {
    result(e, b) = input.func(e, 0, b);
  } else {
    Func sum(uniqueName("sum"));
    RDom s(0, input.extents[1], "s");
    sum(e, b) = 0.0f;
    sum(e, b) += input.func(e, s, b);
    intermediates.push_back({sum, {}});
    result(e, b) = sum(e, b) / Halide::cast<float>(input.extents[1]);
  }
  set(op.getResult(), result, {input.extents[0], input.extents[2]});
}

void KernelEmitter::emit(QuantizeOp op) {
  const Tensor &input = get(op.getInput());
  constexpr int kBlock = BlockType::kBlockSize;
  std::vector<Var> row = outerVars(input);
  Var k("k"), b("b");
  std::vector<Var> elements = row, blocks = row;
  elements.insert(elements.begin(), k);
  blocks.insert(blocks.begin(), b);
  auto at = [&](auto first) { return prepend(first, row); };

  int size = op.getInput().getType().getShape().back();
  Func rowValues(uniqueName("values")), largest(uniqueName("largest")),
      factor(uniqueName("factor")), quants(uniqueName("quants")),
      count(uniqueName("count")), scales(uniqueName("scales")),
      sums(uniqueName("sums"));
  // Rounding is part of the definition.
  using Halide::strict_float;
  RDom inner(0, kBlock, "inner"), inner2(0, kBlock, "inner2");
  rowValues(elements) = input.func(elements);
  largest(blocks) = 0.0f;
  largest(blocks) = Halide::max(largest(blocks),
                                Halide::abs(rowValues(at(kBlock * b + inner))));
  factor(blocks) = Halide::select(largest(blocks) > 0.0f,
                                  strict_float(127.0f / largest(blocks)), 0.0f);
  Expr scaled = strict_float(rowValues(elements) * factor(at(k / kBlock)));
  quants(elements) =
      Halide::cast<int8_t>(Halide::cast<int32_t>(Halide::round(scaled)));
  scales(blocks) = strict_float(largest(blocks) / 127.0f);
  count(blocks) = 0;
  count(blocks) += Halide::cast<int32_t>(quants(at(kBlock * b + inner2)));
  sums(blocks) =
      strict_float(scales(blocks) * Halide::cast<float>(count(blocks)));

  intermediates.insert(intermediates.end(), {{rowValues, {}, size},
                                             {largest, inner.x},
                                             {factor, {}},
                                             {quants, {}, size},
                                             {count, inner2.x}});
  std::vector<Expr> perBlock = input.extents;
  perBlock.front() = perBlock.front() / kBlock;
  set(op.getQuants(), quants, input.extents);
  set(op.getScales(), scales, perBlock);
  set(op.getSums(), sums, perBlock);
}
