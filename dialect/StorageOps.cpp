//===- StorageOps.cpp - Weights and resources -----------------------------===//

#include "dialect/Shapes.h"
#include "dialect/TfmDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::tfm;

LogicalResult WeightOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (!type.hasStaticShape())
    return emitOpError() << "expects a static shape, but got " << type;
  if (isa<BlockType>(type.getElementType()) &&
      (type.getRank() == 0 ||
       type.getShape().back() % BlockType::kBlockSize != 0))
    return emitOpError() << "expects the innermost dimension of blocks to be a "
                            "multiple of "
                         << BlockType::kBlockSize << ", but got " << type;
  if (auto elements = dyn_cast<ElementsAttr>(getSource())) {
    if (elements.getType() != type)
      return emitOpError() << "expects elements of type " << type
                           << ", but got " << elements.getType();
    return success();
  }
  if (!isa<FileAttr, PackedAttr, StringAttr>(getSource()))
    return emitOpError() << "expects a file, elements, a name or a packed "
                            "weight as source, but got "
                         << getSource();
  return success();
}

LogicalResult LoadOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto weight =
      symbolTable.lookupNearestSymbolFrom<WeightOp>(*this, getWeightAttr());
  if (!weight)
    return emitOpError() << "expects @" << getWeight() << " to be a weight";
  auto expected = cast<RankedTensorType>(weight.getType());
  auto found = cast<ShapedType>(getType());
  if (expected.getShape() == found.getShape() &&
      expected.getElementType() == found.getElementType())
    return success();
  return emitOpError() << "expects the type of @" << getWeight() << ", "
                       << expected << ", but got " << found;
}

SmallVector<std::pair<PackedPart, RankedTensorType>>
UnpackOp::getParts(RankedTensorType weight) {
  Builder builder(weight.getContext());
  int64_t rows = weight.getDimSize(0), size = weight.getDimSize(1);
  auto block = dyn_cast<BlockType>(weight.getElementType());
  if (!block)
    return {{PackedPart::Values,
             RankedTensorType::get({llvm::divideCeilSigned(rows, 16), size, 16},
                                   weight.getElementType())}};

  int64_t tiles = llvm::divideCeilSigned(rows, 32);
  int64_t blocks = size / BlockType::kBlockSize;
  int64_t vectors = block.getFormat() == BlockFormat::Q8_0 ? 8 : 4;
  auto scales =
      RankedTensorType::get({tiles, blocks, 4, 8}, builder.getF16Type());
  SmallVector<std::pair<PackedPart, RankedTensorType>> parts = {
      {PackedPart::Quants,
       RankedTensorType::get({tiles, blocks, 4, vectors, 32},
                             builder.getI8Type())},
      {PackedPart::Scales, scales}};
  if (block.getFormat() == BlockFormat::Q4_1)
    parts.push_back({PackedPart::Mins, scales});
  return parts;
}

LogicalResult UnpackOp::verify() {
  if (!getType().hasStaticShape())
    return emitOpError() << "expects a static shape, but got " << getType();
  auto expected = getParts(getType());
  if (expected.size() != getParts().size())
    return emitOpError() << "expects " << expected.size() << " parts of a "
                         << getType() << ", but got " << getParts().size();
  for (auto [part, found] : llvm::zip_equal(expected, getParts().getTypes()))
    if (part.second != found)
      return emitOpError() << "expects " << stringifyPackedPart(part.first)
                           << " of type " << part.second << ", but got "
                           << found;
  return success();
}
