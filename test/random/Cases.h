//===- Cases.h - One random case of each kind -------------------*- C++ -*-===//

#ifndef TFM_TEST_RANDOM_CASES_H
#define TFM_TEST_RANDOM_CASES_H

#include "test/random/PipelineCheck.h"
#include "test/random/Random.h"

namespace mlir::tfm {

/// A decoder through the pipeline: @forward against @score, and @prefill in
/// chunks and @decode against both.
std::optional<Finding> checkModel(MLIRContext *context, Random &random);

/// Attention, or layers, of any form.
std::optional<Finding> checkGraph(MLIRContext *context, Random &random);

/// The kernels of a model or a graph as machine code.
std::optional<Finding> checkKernels(MLIRContext *context, Random &random);

} // namespace mlir::tfm

#endif // TFM_TEST_RANDOM_CASES_H
