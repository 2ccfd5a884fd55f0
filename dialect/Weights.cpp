//===- Weights.cpp - The bytes behind a weight ----------------------------===//

#include "dialect/Weights.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::tfm;
namespace endian = llvm::support::endian;

uint64_t tfm::getStoredBytes(RankedTensorType type) {
  if (auto block = dyn_cast<BlockType>(type.getElementType()))
    return type.getNumElements() / BlockType::kBlockSize *
           block.getBlockBytes();
  return type.getNumElements() *
         llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// IEEE 754 binary16 to binary32, exact.
static float decodeF16(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits >> 15) << 31;
  int32_t exponent = (bits >> 10) & 31;
  uint32_t fraction = bits & 1023;
  if (exponent == 31)
    return llvm::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent == 0) {
    float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return llvm::bit_cast<float>(
      sign | static_cast<uint32_t>(exponent - 15 + 127) << 23 | fraction << 13);
}

static float decodeBF16(uint16_t bits) {
  return llvm::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// One block of 32 elements, see `BlockType`.
static void decodeBlock(BlockFormat format, const char *bytes, float *out) {
  float scale = decodeF16(endian::read16le(bytes));
  if (format == BlockFormat::Q8_0) {
    for (int i = 0; i != 32; ++i)
      out[i] = scale * static_cast<float>(static_cast<int8_t>(bytes[2 + i]));
    return;
  }
  bool hasMin = format == BlockFormat::Q4_1;
  float min = hasMin ? decodeF16(endian::read16le(bytes + 2)) : -8.0f * scale;
  const char *nibbles = bytes + (hasMin ? 4 : 2);
  for (int i = 0; i != 16; ++i) {
    uint8_t byte = static_cast<uint8_t>(nibbles[i]);
    out[i] = scale * static_cast<float>(byte & 15) + min;
    out[i + 16] = scale * static_cast<float>(byte >> 4) + min;
  }
}

void tfm::decodeElements(ArrayRef<char> bytes, Type elementType,
                         MutableArrayRef<float> elements) {
  if (auto block = dyn_cast<BlockType>(elementType)) {
    size_t blocks = elements.size() / BlockType::kBlockSize;
    for (size_t i = 0; i != blocks; ++i)
      decodeBlock(block.getFormat(), bytes.data() + i * block.getBlockBytes(),
                  elements.data() + i * BlockType::kBlockSize);
    return;
  }
  for (auto [i, element] : llvm::enumerate(elements)) {
    if (elementType.isF32())
      element = llvm::bit_cast<float>(endian::read32le(bytes.data() + 4 * i));
    else if (elementType.isF16())
      element = decodeF16(endian::read16le(bytes.data() + 2 * i));
    else
      element = decodeBF16(endian::read16le(bytes.data() + 2 * i));
  }
}

FailureOr<ArrayRef<char>> WeightReader::read(WeightOp weight) {
  auto type = cast<RankedTensorType>(weight.getType());
  if (auto elements = dyn_cast<DenseElementsAttr>(weight.getSource())) {
    ArrayRef<char> raw = elements.getRawData();
    if (!elements.isSplat())
      return raw;
    std::lock_guard<std::mutex> lock(mutex);
    std::vector<char> &bytes = splats[elements];
    while (bytes.size() < getStoredBytes(type))
      bytes.insert(bytes.end(), raw.begin(), raw.end());
    return ArrayRef<char>(bytes);
  }
  auto source = dyn_cast<FileAttr>(weight.getSource());
  if (isa<StringAttr>(weight.getSource()))
    return weight.emitOpError()
           << "expects the file that has tensor " << weight.getSource()
           << ", but got none (see tfmc --weights)";
  if (!source)
    return weight.emitOpError()
           << "expects bytes in a file, but got " << weight.getSource();

  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<llvm::MemoryBuffer> &file = files[source.getPath()];
  if (!file) {
    auto opened = llvm::MemoryBuffer::getFile(source.getPath(),
                                              /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
    if (!opened)
      return weight.emitOpError() << "cannot read " << source.getPath() << ": "
                                  << opened.getError().message();
    file = std::move(*opened);
  }
  uint64_t bytes = getStoredBytes(type), size = file->getBufferSize();
  if (source.getOffset() > size || bytes > size - source.getOffset())
    return weight.emitOpError()
           << "expects " << bytes << " bytes at offset " << source.getOffset()
           << " of " << source.getPath() << ", but the file has " << size;
  return ArrayRef<char>(file->getBufferStart() + source.getOffset(), bytes);
}
