//===- Storage.cpp - Weights as stored and as packed ----------------------===//
//
// Packing follows the table of `tfm.unpack` and is written independently of
// code generation's, as a check of both.
//
//===----------------------------------------------------------------------===//

#include "dialect/interp/Blocks.h"
#include "dialect/interp/Frame.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace mlir;
using namespace mlir::tfm;
namespace endian = llvm::support::endian;

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

float tfm::readF16(const char *bytes) {
  llvm::APFloat value(llvm::APFloat::IEEEhalf(),
                      llvm::APInt(16, endian::read16le(bytes)));
  return value.convertToFloat();
}

void tfm::writeF16(char *bytes, float value) {
  llvm::APFloat half(value);
  bool losesInfo;
  half.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven,
               &losesInfo);
  endian::write16le(bytes, half.bitcastToAPInt().getZExtValue());
}

static char *blockBytes(BlockType type, const Array &weight, int64_t index) {
  return weight.data.get() + index * type.getBlockBytes();
}

Block32 tfm::readBlock(BlockType type, const Array &weight, int64_t index) {
  const char *bytes = blockBytes(type, weight, index);
  Block32 block;
  block.scale = readF16(bytes);
  bytes += 2;
  if (type.getFormat() == BlockFormat::Q8_0) {
    std::memcpy(block.quants.data(), bytes, kBlock);
    return block;
  }
  if (type.getFormat() == BlockFormat::Q4_1) {
    block.min = readF16(bytes);
    bytes += 2;
  }
  for (int64_t i = 0; i != kBlock / 2; ++i) {
    block.quants[i] = bytes[i] & 15;
    block.quants[i + kBlock / 2] = bytes[i] >> 4 & 15;
  }
  return block;
}

void tfm::writeBlock(BlockType type, const Array &weight, int64_t index,
                     const Block32 &block) {
  char *bytes = blockBytes(type, weight, index);
  writeF16(bytes, block.scale);
  bytes += 2;
  if (type.getFormat() == BlockFormat::Q8_0) {
    std::memcpy(bytes, block.quants.data(), kBlock);
    return;
  }
  if (type.getFormat() == BlockFormat::Q4_1) {
    writeF16(bytes, block.min);
    bytes += 2;
  }
  for (int64_t i = 0; i != kBlock / 2; ++i)
    bytes[i] = block.quants[i] | block.quants[i + kBlock / 2] << 4;
}

//===----------------------------------------------------------------------===//
// The packed order
//===----------------------------------------------------------------------===//

/// Where the parts of a block-quantized matrix have what.
namespace {
struct PackedBlocks {
  BlockType type;
  int64_t rows, blocks;

  explicit PackedBlocks(RankedTensorType matrix)
      : type(cast<BlockType>(matrix.getElementType())),
        rows(matrix.getDimSize(0)), blocks(matrix.getDimSize(1) / kBlock) {}

  /// The index of row n's scale, or minimum, of block b.
  int64_t scale(int64_t n, int64_t b) const {
    int64_t tile = n / 32, group = n % 32 / 8, r = n % 8;
    return ((tile * blocks + b) * 4 + group) * 8 + r;
  }
  /// The index of row n's byte for element i of block b.
  int64_t quant(int64_t n, int64_t b, int64_t i) const {
    int64_t tile = n / 32, group = n % 32 / 8, r = n % 8;
    int64_t vectors = isNibbles() ? 4 : 8, k = isNibbles() ? i % 16 : i;
    return (((tile * blocks + b) * 4 + group) * vectors + k / 4) * 32 + 4 * r +
           i % 4;
  }
  bool isNibbles() const { return type.getFormat() != BlockFormat::Q8_0; }
};
} // namespace

/// One part of a block-quantized matrix.
static void packBlocks(PackedBlocks order, const Array &matrix, PackedPart part,
                       const Array &result) {
  for (int64_t n = 0; n != order.rows; ++n)
    for (int64_t b = 0; b != order.blocks; ++b) {
      Block32 block = readBlock(order.type, matrix, n * order.blocks + b);
      if (part != PackedPart::Quants) {
        writeF16(result.data.get() + 2 * order.scale(n, b),
                 part == PackedPart::Scales ? block.scale : block.min);
        continue;
      }
      for (int64_t i = 0; i != kBlock; ++i)
        result.as<int8_t>()[order.quant(n, b, i)] |=
            order.isNibbles() && i >= 16 ? block.quants[i] << 4
                                         : block.quants[i];
    }
}

/// The inverse of `packBlocks` for all parts.
static void unpackBlocks(PackedBlocks order, ArrayRef<Array> parts,
                         const Array &result) {
  for (int64_t n = 0; n != order.rows; ++n)
    for (int64_t b = 0; b != order.blocks; ++b) {
      Block32 block;
      block.scale = readF16(parts[1].data.get() + 2 * order.scale(n, b));
      if (parts.size() == 3)
        block.min = readF16(parts[2].data.get() + 2 * order.scale(n, b));
      for (int64_t i = 0; i != kBlock; ++i) {
        int8_t byte = parts[0].as<int8_t>()[order.quant(n, b, i)];
        if (order.isNibbles())
          byte = (i < 16 ? byte : byte >> 4) & 15;
        block.quants[i] = byte;
      }
      writeBlock(order.type, result, n * order.blocks + b, block);
    }
}

/// Copies the elements of a matrix [N, K] to or from tiles [N/16, K, 16].
static void copyTiles(const Array &matrix, const Array &tiles, bool toTiles) {
  int64_t rows = matrix.shape[0], size = matrix.shape[1],
          bytes = matrix.elementBytes();
  for (int64_t n = 0; n != rows; ++n)
    for (int64_t k = 0; k != size; ++k) {
      char *element = matrix.data.get() + (n * size + k) * bytes;
      char *packed =
          tiles.data.get() + ((n / 16 * size + k) * 16 + n % 16) * bytes;
      std::memcpy(toTiles ? packed : element, toTiles ? element : packed,
                  bytes);
    }
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

FailureOr<Array> Interpreter::read(WeightOp weight) {
  auto type = cast<RankedTensorType>(weight.getType());
  if (!countElements(type.getShape()))
    return weight.emitError("expects a shape that memory can hold");
  Array result = Array::zeros(type.getElementType(), type.getShape());
  auto packed = dyn_cast<PackedAttr>(weight.getSource());
  if (!packed) {
    FailureOr<ArrayRef<char>> bytes = reader.read(weight);
    if (failed(bytes))
      return failure();
    llvm::copy(*bytes, result.data.get());
    return result;
  }

  auto source = lookup<WeightOp>(weight, packed.getWeight());
  auto sourceType =
      source ? cast<RankedTensorType>(source.getType()) : RankedTensorType();
  if (!source || isa<PackedAttr>(source.getSource()) ||
      sourceType.getRank() != 2 ||
      !llvm::is_contained(UnpackOp::getParts(sourceType),
                          std::pair(packed.getPart(), type)))
    return weight.emitOpError()
           << "expects a matrix of which " << type << " is the part "
           << stringifyPackedPart(packed.getPart());
  FailureOr<Array> matrix = load(source);
  if (failed(matrix))
    return failure();
  if (packed.getPart() == PackedPart::Values)
    copyTiles(*matrix, result, /*toTiles=*/true);
  else
    packBlocks(PackedBlocks(sourceType), *matrix, packed.getPart(), result);
  return result;
}

FailureOr<Array> Interpreter::load(WeightOp weight) {
  auto known = weights.find(weight);
  if (known != weights.end())
    return known->second;
  FailureOr<Array> result = read(weight);
  if (succeeded(result))
    weights[weight] = *result;
  return result;
}

LogicalResult Frame::run(LoadOp op) {
  auto weight = interpreter.lookup<WeightOp>(op, op.getWeightAttr());
  FailureOr<Array> result = interpreter.load(weight);
  return failed(result) ? failure() : set(op.getResult(), *result);
}

LogicalResult Frame::run(UnpackOp op) {
  FailureOr<Array> result = create(op.getResult(), op.getType().getShape());
  if (failed(result))
    return failure();
  auto parts = llvm::map_to_vector(op.getParts(),
                                   [&](Value part) { return array(part); });
  if (isa<BlockType>(op.getType().getElementType()))
    unpackBlocks(PackedBlocks(op.getType()), parts, *result);
  else
    copyTiles(*result, parts.front(), /*toTiles=*/false);
  return success();
}
