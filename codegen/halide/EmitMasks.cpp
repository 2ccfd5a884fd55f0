//===- EmitMasks.cpp - Which keys a query may see -------------------------===//
//
// These are inlined into whatever reads them.
//
//===----------------------------------------------------------------------===//

#include "codegen/halide/Emitter.h"

using namespace mlir;
using namespace mlir::tfm;
using Halide::Expr;
using Halide::Func;
using Halide::Var;

Expr KernelEmitter::broadcast(Value value, std::vector<Expr> at) const {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  for (auto [position, dim, extent] :
       llvm::zip_equal(at, llvm::reverse(shape), get(value).extents))
    if (dim == 1)
      position = 0;
    else if (ShapedType::isDynamic(dim))
      position = Halide::min(position, extent - 1);
  return func(value)(at);
}

template <typename MaskOp>
void KernelEmitter::emitMask(MaskOp op,
                             function_ref<Expr(Expr s, Expr t)> keeps) {
  Func result(uniqueName("mask"));
  std::vector<Var> vars = makeVars(4);
  result(vars) = keeps(vars[1], vars[0]);
  set(op.getResult(), result,
      {scalars.find(op.getKeys())->second,
       scalars.find(op.getQueries())->second, 1, 1});
}

void KernelEmitter::emit(CausalMaskOp op) {
  emitMask(op, [](Expr s, Expr t) { return t <= s; });
}

void KernelEmitter::emit(WindowMaskOp op) {
  int window = clampWindow(op.getWindow());
  emitMask(op, [&](Expr s, Expr t) {
    return t > s - window && t < s + (op.getCausal() ? 1 : window);
  });
}

void KernelEmitter::emit(PaddingMaskOp op) {
  const Tensor &lengths = get(op.getLengths());
  Func result(uniqueName("mask"));
  std::vector<Var> vars = makeVars(4);
  result(vars) = vars[0] < lengths.func(vars[3]);
  set(op.getResult(), result,
      {scalars.find(op.getKeys())->second, 1, 1, lengths.extents[0]});
}

void KernelEmitter::emit(MaskAndOp op) {
  Func result(uniqueName("mask"));
  std::vector<Var> vars = makeVars(4);
  std::vector<Expr> at(vars.begin(), vars.end());
  result(vars) = broadcast(op.getLhs(), at) && broadcast(op.getRhs(), at);
  std::vector<Expr> extents;
  for (auto [lhs, rhs] :
       llvm::zip_equal(get(op.getLhs()).extents, get(op.getRhs()).extents))
    extents.push_back(Halide::select(lhs == 1, rhs, lhs));
  set(op.getResult(), result, extents);
}

void KernelEmitter::emit(MaskNotOp op) {
  const Tensor &input = get(op.getInput());
  Func result(uniqueName("mask"));
  std::vector<Var> vars = makeVars(4);
  result(vars) = !input.func(vars);
  set(op.getResult(), result, input.extents);
}
