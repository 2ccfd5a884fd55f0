//===- Blocks.h - Reading and writing stored blocks -------------*- C++ -*-===//
//
// The blocks of `!tfm.block`, taken apart. Internal to the interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_DIALECT_INTERP_BLOCKS_H
#define TFM_DIALECT_INTERP_BLOCKS_H

#include "dialect/interp/Values.h"
#include <array>

namespace mlir::tfm {

inline constexpr int64_t kBlock = BlockType::kBlockSize;

/// One block. The integers are in 0..15 for 4-bit formats, in −128..127 for
/// 8-bit ones; the minimum is 0 where the format has none.
struct Block32 {
  float scale = 0, min = 0;
  std::array<int8_t, kBlock> quants = {};
};

/// Block `index` of a weight.
Block32 readBlock(BlockType type, const Array &weight, int64_t index);
void writeBlock(BlockType type, const Array &weight, int64_t index,
                const Block32 &block);

/// f16 at a place that need not be aligned, little-endian.
float readF16(const char *bytes);
void writeF16(char *bytes, float value);

} // namespace mlir::tfm

#endif // TFM_DIALECT_INTERP_BLOCKS_H
