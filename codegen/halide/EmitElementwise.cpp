//===- EmitElementwise.cpp - Element by element ---------------------------===//
//
// These are inlined into whatever reads them. Functions that Halide computes
// in scalar library calls, or wrongly for large arguments, are written out.
//
//===----------------------------------------------------------------------===//

#include "codegen/halide/Emitter.h"
#include <numbers>

using namespace mlir;
using namespace mlir::tfm;
using Halide::Expr;
using Halide::Func;
using Halide::Var;

/// −infinity as bits: the compiler may assume that there are no infinities in
/// f32 arithmetic.
static constexpr uint32_t kMasked = 0xff800000u;

void KernelEmitter::emitBinary(Operation *op, Expr (*combine)(Expr, Expr)) {
  const Tensor &lhs = get(op->getOperand(0));
  Func result(uniqueName(op->getName().stripDialect()));
  std::vector<Var> vars = makeVars(lhs.extents.size());
  // Strict, so that a chain of them is not reassociated here and there.
  result(vars) = Halide::strict_float(
      combine(lhs.func(vars), func(op->getOperand(1))(vars)));
  set(op->getResult(0), result, lhs.extents);
}

void KernelEmitter::emit(AddOp op) {
  emitBinary(op, [](Expr a, Expr b) { return a + b; });
}

void KernelEmitter::emit(MulOp op) {
  emitBinary(op, [](Expr a, Expr b) { return a * b; });
}

void KernelEmitter::emit(AddVectorOp op) {
  const Tensor &input = get(op.getInput());
  Func result(uniqueName("add_vector"));
  std::vector<Var> vars = makeVars(input.extents.size());
  Expr element = toFloat(func(op.getVector())(vars.front()));
  result(vars) = Halide::strict_float(input.func(vars) + element);
  set(op.getResult(), result, input.extents);
}

void KernelEmitter::emit(ScaleOp op) {
  const Tensor &input = get(op.getInput());
  Func result(uniqueName("scale"));
  std::vector<Var> vars = makeVars(input.extents.size());
  result(vars) =
      Halide::strict_float(input.func(vars) * op.getFactor().convertToFloat());
  set(op.getResult(), result, input.extents);
}

/// Hyperbolic tangent by the rational approximation of Eigen
/// (`generic_fast_tanh_float`), relative error below 3e-7. Halide's calls
/// libm for every element.
static Expr approximateTanh(Expr x) {
  x = Halide::clamp(x, -7.90531110763549805f, 7.90531110763549805f);
  Expr z = x * x;
  auto evaluate = [&](std::initializer_list<float> coefficients) {
    Expr sum;
    for (float c : coefficients)
      sum = sum.defined() ? sum * z + c : Expr(c);
    return sum;
  };
  Expr p = evaluate({-2.76076847742355e-16f, 2.00018790482477e-13f,
                     -8.60467152213735e-11f, 5.12229709037114e-08f,
                     1.48572235717979e-05f, 6.37261928875436e-04f,
                     4.89352455891786e-03f});
  Expr q = evaluate({1.19825839466702e-06f, 1.18534705686654e-04f,
                     2.26843463243900e-03f, 4.89352518554385e-03f});
  return x * p / q;
}

static Expr activate(ActivationKind kind, Expr x) {
  switch (kind) {
  case ActivationKind::Relu:
    return Halide::max(x, 0.0f);
  case ActivationKind::Gelu: {
    // Halide's erf is NaN at infinity, and 1 in f32 from 4 on.
    Expr z = Halide::clamp(x * float(1 / std::numbers::sqrt2), -4.0f, 4.0f);
    return 0.5f * x * (1.0f + Halide::erf(z));
  }
  case ActivationKind::GeluTanh: {
    constexpr float root = 0.797884560802865356f; // sqrt(2/pi)
    return 0.5f * x *
           (1.0f + approximateTanh(root * (x + 0.044715f * x * x * x)));
  }
  case ActivationKind::Silu:
    // exp(88) is the largest that f32 holds.
    return x / (1.0f + Halide::exp(Halide::min(-x, 88.0f)));
  }
  llvm_unreachable("every kind has a formula");
}

void KernelEmitter::emit(ActivationOp op) {
  const Tensor &input = get(op.getInput());
  Func result(uniqueName("activation"));
  std::vector<Var> vars = makeVars(input.extents.size());
  result(vars) = activate(op.getKind(), input.func(vars));
  set(op.getResult(), result, input.extents);
}

void KernelEmitter::emit(DropoutOp op) {
  const Tensor &input = get(op.getInput());
  set(op.getResult(), input.func, input.extents);
}

/// −infinity where `isMasked`, which f32 arithmetic must not meet, else `x`.
static Expr maskOut(Expr isMasked, Expr x) {
  return Halide::reinterpret<float>(Halide::select(
      isMasked, Expr(kMasked), Halide::reinterpret<uint32_t>(x)));
}

void KernelEmitter::emit(AddBiasOp op) {
  const Tensor &scores = get(op.getScores());
  Func result(uniqueName("add_bias"));
  std::vector<Var> vars = makeVars(scores.extents.size());
  Expr score = scores.func(vars);
  Expr bias = broadcast(op.getBias(), {vars.begin(), vars.end()});
  auto isMasked = [](Expr x) {
    return Halide::reinterpret<uint32_t>(x) == Expr(kMasked);
  };
  result(vars) = maskOut(isMasked(score) || isMasked(bias), score + bias);
  set(op.getResult(), result, scores.extents);
}

void KernelEmitter::emit(ApplyMaskOp op) {
  const Tensor &scores = get(op.getScores());
  Func result(uniqueName("apply_mask"));
  std::vector<Var> vars = makeVars(scores.extents.size());
  Expr keep = broadcast(op.getMask(), {vars.begin(), vars.end()});
  result(vars) = maskOut(!keep, scores.func(vars));
  set(op.getResult(), result, scores.extents);
}
