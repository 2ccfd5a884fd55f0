//===- NormOps.cpp - Normalisation ----------------------------------------===//

#include "dialect/Shapes.h"
#include "dialect/TfmDialect.h"

using namespace mlir;
using namespace mlir::tfm;

LogicalResult RmsNormOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getInput().getType());
  return success();
}

LogicalResult RmsNormOp::verify() {
  return verifyEqualDims(*this, "input and gain", "model size E",
                         lastDim(getInput()), lastDim(getGain()));
}
