//===- CausalMask.h - Recognizes causal masks -------------------*- C++ -*-===//

#ifndef TFM_PASSES_CAUSALMASK_H
#define TFM_PASSES_CAUSALMASK_H

#include "mlir/IR/Value.h"

namespace mlir::tfm {

/// True if `mask` has the lengths S and T of the scores of `query` [B, H, S, D]
/// and `key` [B, G, T, D] in every run. A dimension of 1 would broadcast one
/// row or column to all others.
bool hasLengthsOfScores(Value mask, Value query, Value key);

/// True if `mask`, over the scores of `query` and `key`, keeps t <= s for every
/// query s and key t in every run: a `causal_mask`, or a `tensor.generate`
/// whose condition is a comparison of indices that says the same, of the
/// lengths S and T.
bool isCausalMask(Value mask, Value query, Value key);

} // namespace mlir::tfm

#endif // TFM_PASSES_CAUSALMASK_H
