//===- Pipelines.h - Which passes lead from stage to stage ------*- C++ -*-===//

#ifndef TFM_PASSES_PIPELINES_H
#define TFM_PASSES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::tfm {

/// How activations meet block-quantized weights.
enum class Activations {
  I8,  ///< integer products of 8-bit activations, cache in f16
  F32, ///< weights are dequantized in the kernel, cache in f32
};

/// From graph to fused: fusions, key/value cache, integer products.
void buildFusedPipeline(OpPassManager &manager, Activations activations);

/// From fused to kernels.
void buildKernelsPipeline(OpPassManager &manager);

/// From kernels to planned: packed weights and buffers in one arena.
void buildPlannedPipeline(OpPassManager &manager);

/// Registers the pipelines as `tfm-to-fused{activations=i8|f32}`,
/// `tfm-to-kernels` and `tfm-to-planned`.
void registerPipelines();

} // namespace mlir::tfm

#endif // TFM_PASSES_PIPELINES_H
