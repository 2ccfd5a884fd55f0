//===- GgufWeights.cpp - Tensors of a GGUF file as weights ----------------===//

#include "import/GgufWeights.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::tfm;

static constexpr llvm::StringLiteral kSuffix = ".weight";

/// "576x192".
template <typename Range> static std::string toText(const Range &shape) {
  return llvm::join(
      llvm::map_range(shape, [](int64_t dim) { return std::to_string(dim); }),
      "x");
}

/// Null for a type that the dialect has no element for.
static Type toElementType(GgmlType type, MLIRContext *context) {
  switch (type) {
  case GgmlType::F32:
    return Float32Type::get(context);
  case GgmlType::F16:
    return Float16Type::get(context);
  case GgmlType::BF16:
    return BFloat16Type::get(context);
  case GgmlType::Q4_0:
    return BlockType::get(context, BlockFormat::Q4_0);
  case GgmlType::Q4_1:
    return BlockType::get(context, BlockFormat::Q4_1);
  case GgmlType::Q8_0:
    return BlockType::get(context, BlockFormat::Q8_0);
  }
  return Type();
}

bool GgufWeights::has(StringRef name) const {
  return file.getTensors().contains((name + kSuffix).str());
}

llvm::Error GgufWeights::declare(StringRef name, ArrayRef<int64_t> shape) {
  std::string tensorName = (name + kSuffix).str();
  auto found = file.getTensors().find(tensorName);
  if (found == file.getTensors().end())
    return file.tensorError(tensorName, "expects a tensor of shape " +
                                            toText(shape) +
                                            ", but got no such tensor");
  const GgufTensor &tensor = found->second;
  if (!llvm::equal(shape, llvm::reverse(tensor.dims)))
    return file.tensorError(tensorName, "expects shape " + toText(shape) +
                                            ", but got " +
                                            toText(llvm::reverse(tensor.dims)));
  llvm::Expected<Type> elementType = getElementType(tensorName, tensor);
  if (!elementType)
    return elementType.takeError();

  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = NameLoc::get(
      builder.getStringAttr(tensorName),
      FileLineColLoc::get(builder.getStringAttr(file.getPath()), 0, 0));
  weights[name] = WeightOp::create(
      builder, loc, name, RankedTensorType::get(shape, *elementType),
      FileAttr::get(builder.getContext(), file.getPath(), tensor.offset),
      /*placement=*/IntegerAttr());
  return llvm::Error::success();
}

llvm::Expected<Type> GgufWeights::getElementType(StringRef tensorName,
                                                 const GgufTensor &tensor) {
  // Vectors are too small to be worth blocks: no operation takes any.
  bool isMatrix = tensor.dims.size() > 1;
  Type type = toElementType(tensor.type, module.getContext());
  if (type && (isMatrix || !isa<BlockType>(type)))
    return type;
  return file.tensorError(
      tensorName, "expects elements of " +
                      Twine(isMatrix ? "f32, f16, bf16, q4_0, q4_1 or q8_0"
                                     : "f32, f16 or bf16") +
                      ", but got " + getName(tensor.type));
}

Value GgufWeights::load(OpBuilder &builder, StringRef name) const {
  WeightOp weight = weights.at(name);
  return LoadOp::create(builder, NameLoc::get(builder.getStringAttr(name)),
                        weight.getType(), weight.getSymName());
}

llvm::Error GgufWeights::checkAllDeclared(StringRef architecture) const {
  for (const auto &[name, tensor] : file.getTensors())
    if (StringRef symbol = name;
        !symbol.consume_back(kSuffix) || !weights.contains(symbol))
      return file.tensorError(name, "expects no such tensor in a \"" +
                                        architecture +
                                        "\" model, since it is not supported");
  return llvm::Error::success();
}
