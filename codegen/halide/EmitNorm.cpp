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

void KernelEmitter::emit(RmsNormOp op) {
  const Tensor &input = get(op.getInput());
  int size = op.getInput().getType().getShape().back();
  int lanes = vectorWidth(size);
  std::vector<Var> row = outerVars(input);
  Var lane("lane"), e("e");
  auto at = [&](auto first) { return prepend(first, row); };

  // Sums of every 8th element, then their sum.
  Func squares(uniqueName("squares")), inverse(uniqueName("inverse"));
  RDom step(0, size / lanes, "step"), each(0, lanes, "each");
  Expr x = input.func(at(lanes * step + lane));
  std::vector<Var> laneRow = row;
  laneRow.insert(laneRow.begin(), lane);
  squares(laneRow) = 0.0f;
  squares(laneRow) += x * x;
  Func total(uniqueName("total"));
  total(row) = 0.0f;
  total(row) += squares(at(each));
  inverse(row) = 1.0f / Halide::sqrt(total(row) / float(size) +
                                     op.getEpsilon().convertToFloat());

  Func result(uniqueName("rms_norm"));
  std::vector<Var> vars = row;
  vars.insert(vars.begin(), e);
  result(vars) = input.func(vars) * inverse(row) *
                 Halide::cast<float>(func(op.getGain())(e));
  intermediates.insert(intermediates.end(),
                       {{squares, {}}, {total, {}}, {inverse, {}}});
  set(op.getResult(), result, input.extents);
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
