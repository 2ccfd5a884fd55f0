//===- MaskOps.cpp - Which keys a query may see ---------------------------===//

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

LogicalResult CausalMaskOp::inferReturnTypes(MLIRContext *context,
                                             std::optional<Location> location,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &inferred) {
  inferred.push_back(RankedTensorType::get(
      {1, 1, constantDim(adaptor.getQueries()), constantDim(adaptor.getKeys())},
      IntegerType::get(context, 1)));
  return success();
}
