//===- RandomModel.h - Small random decoders --------------------*- C++ -*-===//

#ifndef TFM_TEST_RANDOM_RANDOMMODEL_H
#define TFM_TEST_RANDOM_RANDOMMODEL_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "test/random/Weights.h"

namespace mlir::tfm {

/// How many tokens a decoder has positions for.
inline constexpr int64_t kLongestText = 65;

/// The shape of a decoder. Letters as in the dialect.
struct ModelShape {
  int64_t layers, heads, groups, keySize, valueSize, modelSize, forwardSize,
      vocabulary;
};

struct RandomModel {
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<Weights> weights;
  ModelShape shape;
};

/// A module with `@forward(tokens [B, S]) -> logits [B, S, V]`.
RandomModel makeModel(MLIRContext *context, Random &random);

} // namespace mlir::tfm

#endif // TFM_TEST_RANDOM_RANDOMMODEL_H
