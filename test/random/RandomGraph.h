//===- RandomGraph.h - Small random graphs ----------------------*- C++ -*-===//
//
// What decoders do not have: attention with S != T, masks with fully masked
// rows, biases, values that are used twice, networks of any shape.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_TEST_RANDOM_RANDOMGRAPH_H
#define TFM_TEST_RANDOM_RANDOMGRAPH_H

#include "dialect/interp/Values.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "test/random/Weights.h"

namespace mlir::tfm {

/// A module with one function, `@forward`, and arguments for it.
struct RandomGraph {
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<Weights> weights;
  SmallVector<RuntimeValue> arguments;
  /// How far fusing attention may take a result.
  double fusionError = 0;
};

/// Attention of heads that are arguments.
RandomGraph makeAttentionGraph(MLIRContext *context, Random &random);

/// Linear maps, norms, activations and networks, with results in between.
RandomGraph makeLayerGraph(MLIRContext *context, Random &random);

/// Linear maps of one input, which is the first result.
RandomGraph makeMapGraph(MLIRContext *context, Random &random);

} // namespace mlir::tfm

#endif // TFM_TEST_RANDOM_RANDOMGRAPH_H
