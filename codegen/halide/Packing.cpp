//===- Packing.cpp - Weights in the order of reading ----------------------===//

#include "codegen/halide/Packing.h"

#include "dialect/Weights.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>

using namespace mlir;
using namespace mlir::tfm;

namespace {
/// Rows of a tile of blocks, and of one of its groups.
constexpr int64_t kTile = 32, kGroup = 8;
/// Rows of a tile of plain elements.
constexpr int64_t kPanel = 16;

/// Where the parts of a block stand in a file.
struct BlockFields {
  int64_t scale, min, quants; ///< byte offsets
  int64_t vectors;            ///< of 32 bytes, for 8 rows
};
} // namespace

static BlockFields getFields(BlockFormat format) {
  switch (format) {
  case BlockFormat::Q4_0:
    return {0, 0, 2, 4};
  case BlockFormat::Q4_1:
    return {0, 2, 4, 4};
  case BlockFormat::Q8_0:
    return {0, 0, 2, 8};
  }
  llvm_unreachable("every format has fields");
}

static int64_t getPartIndex(RankedTensorType type, PackedPart part) {
  auto parts = UnpackOp::getParts(type);
  return llvm::find_if(parts, [&](auto &p) { return p.first == part; }) -
         parts.begin();
}

std::vector<char> tfm::packWeight(RankedTensorType type, PackedPart part,
                                  ArrayRef<char> stored) {
  auto partType = UnpackOp::getParts(type)[getPartIndex(type, part)].second;
  std::vector<char> packed(getStoredBytes(partType));
  int64_t rows = type.getDimSize(0), size = type.getDimSize(1);

  auto block = dyn_cast<BlockType>(type.getElementType());
  if (!block) {
    int64_t bytes = type.getElementTypeBitWidth() / 8;
    for (int64_t n = 0; n != rows; ++n)
      for (int64_t k = 0; k != size; ++k) {
        int64_t to = (n / kPanel * size + k) * kPanel + n % kPanel;
        std::memcpy(&packed[to * bytes], &stored[(n * size + k) * bytes],
                    bytes);
      }
    return packed;
  }

  BlockFields fields = getFields(block.getFormat());
  int64_t blocks = size / BlockType::kBlockSize;
  for (int64_t n = 0; n != rows; ++n)
    for (int64_t b = 0; b != blocks; ++b) {
      const char *from = &stored[(n * blocks + b) * block.getBlockBytes()];
      int64_t r = n % kGroup;
      int64_t group =
          (n / kTile * blocks + b) * (kTile / kGroup) + n % kTile / kGroup;
      if (part == PackedPart::Quants)
        // Four neighbours of a row stay together.
        for (int64_t v = 0; v != fields.vectors; ++v)
          std::memcpy(&packed[(group * fields.vectors + v) * 32 + 4 * r],
                      from + fields.quants + 4 * v, 4);
      else
        std::memcpy(
            &packed[(group * kGroup + r) * 2],
            from + (part == PackedPart::Mins ? fields.min : fields.scale), 2);
    }
  return packed;
}
