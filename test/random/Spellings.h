//===- Spellings.h - The ways of writing attention --------------*- C++ -*-===//
//
// What people write differently stands in one table for each aspect: a new
// spelling is an entry. `tfm-fuse-attention` may fuse one or leave it alone,
// the numbers must stay.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_TEST_RANDOM_SPELLINGS_H
#define TFM_TEST_RANDOM_SPELLINGS_H

#include "dialect/TfmDialect.h"
#include "mlir/IR/Builders.h"
#include "test/random/Random.h"

namespace mlir::tfm {

struct AttentionOperands {
  Value query, key, value;  ///< [B, H, S, D], [B, G, T, D], [B, G, T, D']
  SmallVector<Value> masks; ///< i1 masks and f32 biases
  float scale = 1;
};

/// One choice of each aspect.
struct Spelling {
  size_t product, scale;
  /// How many masks and biases come before the scale of the scores.
  size_t masksBeforeScale;
  bool hasDropout, joinsMasks;
};

Spelling chooseSpelling(Random &random);

/// Writes attention in the textbook form and returns its result.
Value spellAttention(OpBuilder &builder, const AttentionOperands &operands,
                     const Spelling &spelling);

/// How many f32 roundings a score gets in any spelling: of the scaled query and
/// key, of the sum, of two scales of the scores, of the product of the factors,
/// and of two biases.
inline constexpr int kScoreRoundings = 8;

/// A mask by which query s sees the keys 0..s, spelled in some way.
Value makeCausalMask(OpBuilder &builder, Value queries, Value keys,
                     Random &random);
/// A mask by which query s sees keys near s.
Value makeWindowMask(OpBuilder &builder, Value queries, Value keys,
                     Random &random);
/// A mask by s and t that looks much like a causal one.
Value makeOtherMask(OpBuilder &builder, Value queries, Value keys,
                    Random &random);

} // namespace mlir::tfm

#endif // TFM_TEST_RANDOM_SPELLINGS_H
