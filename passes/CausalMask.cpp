//===- CausalMask.cpp - Recognizes causal masks ---------------------------===//

#include "passes/CausalMask.h"

#include "dialect/TfmDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AffineExpr.h"
#include "passes/Dims.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::tfm;

namespace {
/// Reads the condition that `tensor.generate` computes for position [b, h, s,
/// t] as a linear inequality.
class Comparison {
public:
  explicit Comparison(tensor::GenerateOp op)
      : context(op.getContext()), body(op.getBody().front()) {}

  /// True if the condition is t <= s in every run.
  bool isCausal() {
    auto compare = cast<tensor::YieldOp>(body.getTerminator())
                       .getValue()
                       .getDefiningOp<arith::CmpIOp>();
    if (!compare)
      return false;
    AffineExpr lhs = read(compare.getLhs()), rhs = read(compare.getRhs());
    if (!lhs || !rhs)
      return false;
    std::optional<AffineExpr> slack =
        getSlack(compare.getPredicate(), lhs, rhs);
    AffineExpr s = getAffineDimExpr(2, context),
               t = getAffineDimExpr(3, context);
    return slack && simplifyAffineExpr(*slack - (s - t), 4, lengths.size()) ==
                        getAffineConstantExpr(0, context);
  }

private:
  /// What is at least 0 where the comparison holds.
  std::optional<AffineExpr> getSlack(arith::CmpIPredicate predicate,
                                     AffineExpr lhs, AffineExpr rhs) {
    switch (predicate) {
    case arith::CmpIPredicate::ule:
    case arith::CmpIPredicate::ult:
    case arith::CmpIPredicate::uge:
    case arith::CmpIPredicate::ugt:
      if (mayBeNegative)
        return std::nullopt;
      break;
    default:
      break;
    }
    switch (predicate) {
    case arith::CmpIPredicate::sle:
    case arith::CmpIPredicate::ule:
      return rhs - lhs;
    case arith::CmpIPredicate::slt:
    case arith::CmpIPredicate::ult:
      return rhs - lhs - 1;
    case arith::CmpIPredicate::sge:
    case arith::CmpIPredicate::uge:
      return lhs - rhs;
    case arith::CmpIPredicate::sgt:
    case arith::CmpIPredicate::ugt:
      return lhs - rhs - 1;
    default:
      return std::nullopt;
    }
  }

  /// A sum of indices, lengths and small constants, which does not wrap
  /// around, or null. Sums of sums are followed `depth` steps.
  AffineExpr read(Value value, int depth = 16) {
    if (depth == 0)
      return {};
    if (auto known = expressions.find(value); known != expressions.end())
      return known->second;
    AffineExpr expression = readNew(value, depth - 1);
    expressions[value] = expression;
    return expression;
  }

  AffineExpr readNew(Value value, int depth) {
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner() == &body)
      return getAffineDimExpr(argument.getArgNumber(), context);
    if (auto add = value.getDefiningOp<arith::AddIOp>()) {
      AffineExpr lhs = read(add.getLhs(), depth),
                 rhs = read(add.getRhs(), depth);
      return lhs && rhs ? lhs + rhs : AffineExpr();
    }
    if (auto sub = value.getDefiningOp<arith::SubIOp>()) {
      mayBeNegative = true;
      AffineExpr lhs = read(sub.getLhs(), depth),
                 rhs = read(sub.getRhs(), depth);
      return lhs && rhs ? lhs - rhs : AffineExpr();
    }
    if (!value.getType().isIndex())
      return {};
    DimSource source = traceDim({value, std::nullopt});
    if (std::optional<int64_t> known = getKnownDim(source)) {
      mayBeNegative |= *known < 0;
      return llvm::isInt<32>(*known) ? getAffineConstantExpr(*known, context)
                                     : AffineExpr();
    }
    if (!source.dim)
      return {};
    auto *length = llvm::find(lengths, source);
    if (length == lengths.end()) {
      lengths.push_back(source);
      length = &lengths.back();
    }
    return getAffineSymbolExpr(length - lengths.begin(), context);
  }

  MLIRContext *context;
  Block &body;
  SmallVector<DimSource> lengths;
  DenseMap<Value, AffineExpr> expressions;
  bool mayBeNegative = false;
};
} // namespace

bool tfm::hasLengthsOfScores(Value mask, Value query, Value key) {
  return areEqualDims({mask, 2}, {query, 2}) &&
         areEqualDims({mask, 3}, {key, 2});
}

bool tfm::isCausalMask(Value mask, Value query, Value key) {
  auto generate = mask.getDefiningOp<tensor::GenerateOp>();
  return (mask.getDefiningOp<CausalMaskOp>() ||
          (generate && Comparison(generate).isCausal())) &&
         hasLengthsOfScores(mask, query, key);
}
