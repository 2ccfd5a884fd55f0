//===- SafetensorsWeights.cpp - Tensors of a checkpoint -------------------===//
//
// See SafetensorsWeights.h.
//
//===----------------------------------------------------------------------===//

#include "import/SafetensorsWeights.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::tfm;
using llvm::Error;

/// "576x192".
static std::string toText(ArrayRef<int64_t> shape) {
  return llvm::join(
      llvm::map_range(shape, [](int64_t dim) { return std::to_string(dim); }),
      "x");
}

/// Null for a type that the dialect has no element for.
static Type toElementType(StringRef dtype, MLIRContext *context) {
  return llvm::StringSwitch<Type>(dtype)
      .Case("F32", Float32Type::get(context))
      .Case("F16", Float16Type::get(context))
      .Case("BF16", BFloat16Type::get(context))
      .Default(Type());
}

Error SafetensorsWeights::declare(StringRef name, ArrayRef<int64_t> shape) {
  return declare(name, name, shape, shape, 0);
}

Error SafetensorsWeights::declareRow(StringRef name, StringRef tensor,
                                     int64_t row, int64_t rows, int64_t size) {
  return declare(name, tensor, {rows, size}, {size}, row * size);
}

Error SafetensorsWeights::declare(StringRef name, StringRef tensorName,
                                  ArrayRef<int64_t> stored,
                                  ArrayRef<int64_t> shape,
                                  int64_t firstElement) {
  auto found = tensors.find(tensorName.str());
  if (found == tensors.end())
    return tensorError(tensors, tensorName,
                       "expects a tensor of shape " + toText(stored) +
                           ", but got no such tensor");
  const SafetensorsTensor &tensor = found->second;
  if (ArrayRef(tensor.shape) != stored)
    return tensorError(tensors, tensorName,
                       "expects shape " + toText(stored) + ", but got " +
                           toText(tensor.shape));
  Type element = toElementType(tensor.dtype, module.getContext());
  if (!element)
    return tensorError(tensors, tensorName,
                       "expects elements of F32, F16 or BF16, but got " +
                           Twine(tensor.dtype));

  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = NameLoc::get(
      builder.getStringAttr(tensorName),
      FileLineColLoc::get(builder.getStringAttr(tensor.path), 0, 0));
  uint64_t skipped = firstElement * (element.getIntOrFloatBitWidth() / 8);
  weights[name] = WeightOp::create(
      builder, loc, name, RankedTensorType::get(shape, element),
      FileAttr::get(builder.getContext(), tensor.path, tensor.offset + skipped),
      /*placement=*/IntegerAttr());
  used.insert(tensorName);
  return Error::success();
}

Value SafetensorsWeights::load(OpBuilder &builder, StringRef name) const {
  WeightOp weight = weights.at(name);
  return LoadOp::create(builder, NameLoc::get(builder.getStringAttr(name)),
                        weight.getType(), weight.getSymName());
}

SmallVector<StringRef> SafetensorsWeights::getUndeclared() const {
  SmallVector<StringRef> names;
  for (const auto &[name, tensor] : tensors)
    if (!used.contains(name))
      names.push_back(name);
  return names;
}

//===----------------------------------------------------------------------===//
// Weights of models that people write
//===----------------------------------------------------------------------===//

static LogicalResult bindWeight(WeightOp weight, StringRef name,
                                const SafetensorsTensors &tensors) {
  auto found = tensors.find(name.str());
  if (found == tensors.end())
    return weight.emitOpError()
           << "expects a tensor \"" << name << "\", but the file has none";
  const SafetensorsTensor &tensor = found->second;
  auto type = cast<RankedTensorType>(weight.getType());
  if (ArrayRef(tensor.shape) != type.getShape())
    return weight.emitOpError()
           << "expects shape " << toText(type.getShape()) << " of tensor \""
           << name << "\", but got " << toText(tensor.shape);
  if (toElementType(tensor.dtype, weight.getContext()) != type.getElementType())
    return weight.emitOpError()
           << "expects elements of " << type.getElementType() << " of tensor \""
           << name << "\", but got " << tensor.dtype;
  weight.setSourceAttr(
      FileAttr::get(weight.getContext(), tensor.path, tensor.offset));
  return success();
}

LogicalResult mlir::tfm::bindNamedWeights(ModuleOp module, StringRef path) {
  SafetensorsTensors tensors;
  if (Error error = readSafetensors(path, tensors))
    return mlir::emitError(FileLineColLoc::get(
               StringAttr::get(module.getContext(), path), 0, 0))
           << llvm::toString(std::move(error));
  llvm::StringSet<> used;
  for (WeightOp weight : module.getOps<WeightOp>()) {
    auto name = dyn_cast<StringAttr>(weight.getSource());
    if (!name)
      continue;
    used.insert(name);
    if (failed(bindWeight(weight, name, tensors)))
      return failure();
  }
  SmallVector<StringRef> unused;
  for (const auto &[name, tensor] : tensors)
    if (!used.contains(name))
      unused.push_back(name);
  if (!unused.empty())
    emitRemark(module.getLoc())
        << "unused tensors: " << llvm::join(unused, ", ");
  return success();
}
