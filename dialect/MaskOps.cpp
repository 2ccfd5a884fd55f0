//===- MaskOps.cpp - Which keys a query may see ---------------------------===//

#include "dialect/Shapes.h"
#include "dialect/TfmDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::tfm;

/// The value of an index if it is a length that is known, else a dynamic
/// dimension.
static int64_t constantDim(Value index) {
  APInt value;
  if (!matchPattern(index, m_ConstantInt(&value)) || value.isNegative())
    return ShapedType::kDynamic;
  return value.getSExtValue();
}

/// [1, 1, S, T]
static RankedTensorType getMaskType(MLIRContext *context, Value queries,
                                    Value keys) {
  return RankedTensorType::get({1, 1, constantDim(queries), constantDim(keys)},
                               IntegerType::get(context, 1));
}

LogicalResult CausalMaskOp::inferReturnTypes(MLIRContext *context,
                                             std::optional<Location> location,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &inferred) {
  inferred.push_back(
      getMaskType(context, adaptor.getQueries(), adaptor.getKeys()));
  return success();
}

LogicalResult WindowMaskOp::inferReturnTypes(MLIRContext *context,
                                             std::optional<Location> location,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &inferred) {
  inferred.push_back(
      getMaskType(context, adaptor.getQueries(), adaptor.getKeys()));
  return success();
}

LogicalResult PaddingMaskOp::inferReturnTypes(MLIRContext *context,
                                              std::optional<Location> location,
                                              Adaptor adaptor,
                                              SmallVectorImpl<Type> &inferred) {
  inferred.push_back(RankedTensorType::get(
      {shapeOf(adaptor.getLengths())[0], 1, 1, constantDim(adaptor.getKeys())},
      IntegerType::get(context, 1)));
  return success();
}

LogicalResult MaskAndOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &inferred) {
  SmallVector<int64_t> shape;
  for (auto [lhs, rhs] :
       llvm::zip_equal(shapeOf(adaptor.getLhs()), shapeOf(adaptor.getRhs())))
    shape.push_back(broadcastDims(lhs, rhs).value_or(lhs));
  inferred.push_back(
      RankedTensorType::get(shape, IntegerType::get(context, 1)));
  return success();
}

LogicalResult MaskAndOp::verify() {
  return verifyMutualBroadcast(*this, shapeOf(getLhs()), shapeOf(getRhs()));
}

OpFoldResult MaskAndOp::fold(FoldAdaptor) {
  return getLhs() == getRhs() && getLhs().getType() == getType() ? getLhs()
                                                                 : Value();
}

LogicalResult MaskNotOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getInput().getType());
  return success();
}

OpFoldResult MaskNotOp::fold(FoldAdaptor) {
  auto inner = getInput().getDefiningOp<MaskNotOp>();
  return inner && inner.getInput().getType() == getType() ? inner.getInput()
                                                          : Value();
}
