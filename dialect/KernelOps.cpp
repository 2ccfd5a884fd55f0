//===- KernelOps.cpp - Outlined work --------------------------------------===//

#include "dialect/Shapes.h"
#include "dialect/TfmDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace mlir::tfm;

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs,
                      ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(inputs, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false,
      getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

YieldOp KernelOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

LogicalResult YieldOp::verify() {
  auto kernel = cast<KernelOp>((*this)->getParentOp());
  if (getOperandTypes() == TypeRange(kernel.getResultTypes()))
    return success();
  return emitOpError() << "expects the kernel's result types ("
                       << kernel.getResultTypes() << "), but got ("
                       << getOperandTypes() << ")";
}

//===----------------------------------------------------------------------===//
// LaunchOp
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &inferred) {
  for (Value out : adaptor.getOuts())
    if (!isa<MemRefType>(out.getType()))
      inferred.push_back(out.getType());
  return success();
}

/// True if a value of type `found` can be passed where a kernel says
/// `expected`: the same but for buffers in the place of tensors and for
/// dimensions that only one of them knows.
static bool isPassableAs(Type found, Type expected) {
  auto expectedTensor = dyn_cast<RankedTensorType>(expected);
  if (!expectedTensor)
    return found == expected;
  auto shaped = dyn_cast<ShapedType>(found);
  return shaped && shaped.getElementType() == expectedTensor.getElementType() &&
         succeeded(verifyCompatibleShape(shaped.getShape(),
                                         expectedTensor.getShape()));
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto kernel =
      symbolTable.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "expects @" << getKernel() << " to be a kernel";

  SmallVector<Type> passed(getInputs().getTypes());
  for (Type out : getOuts().getTypes())
    if (isa<KvCacheType>(out))
      passed.push_back(out);
  auto verifyTypes = [&](StringRef what, TypeRange found,
                         TypeRange expected) -> LogicalResult {
    if (found.size() != expected.size())
      return emitOpError() << "expects " << expected.size() << " " << what
                           << " as @" << getKernel() << " has, but got "
                           << found.size();
    for (auto [f, e] : llvm::zip_equal(found, expected))
      if (!isPassableAs(f, e))
        return emitOpError() << "expects @" << getKernel() << "'s " << e
                             << " among the " << what << ", but got " << f;
    return success();
  };
  if (failed(verifyTypes("arguments", passed, kernel.getArgumentTypes())) ||
      failed(
          verifyTypes("outs", getOuts().getTypes(), kernel.getResultTypes())))
    return failure();

  for (Value out : getOuts())
    if (isa<KvCacheType>(out.getType()) && failed(verifyConsumes(*this, out)))
      return failure();

  int64_t tiled = getTile().size();
  for (Type out : getOuts().getTypes()) {
    auto shaped = dyn_cast<ShapedType>(out);
    int64_t rank = shaped ? shaped.getRank() : 2;
    if (tiled > rank)
      return emitOpError() << "expects a tile of at most " << rank
                           << " dimensions for " << out << ", but got "
                           << tiled;
  }
  return success();
}

void LaunchOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &input : getInputsMutable())
    if (isa<MemRefType>(input.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &input);
  for (OpOperand &out : getOutsMutable())
    if (isa<MemRefType>(out.get().getType()))
      effects.emplace_back(MemoryEffects::Write::get(), &out);
}
