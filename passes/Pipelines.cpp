//===- Pipelines.cpp - Which passes lead from stage to stage --------------===//
//
// The only place that orders passes.
//
//===----------------------------------------------------------------------===//

#include "passes/Pipelines.h"

#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace mlir::tfm;

void tfm::buildFusedPipeline(OpPassManager &manager, Activations activations) {
  bool integer = activations == Activations::I8;
  manager.addNestedPass<func::FuncOp>(createInferShapesPass());
  manager.addNestedPass<func::FuncOp>(createFuseAttentionPass());
  manager.addNestedPass<func::FuncOp>(createFuseFfnPass());
  manager.addPass(createInsertKvCachePass({integer ? "f16" : "f32"}));
  if (integer)
    manager.addNestedPass<func::FuncOp>(createQuantizeActivationsPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void tfm::buildKernelsPipeline(OpPassManager &manager) {
  manager.addPass(createOutlineKernelsPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void tfm::buildPlannedPipeline(OpPassManager &manager) {
  manager.addPass(createPackWeightsPass());
  manager.addPass(createPlanMemoryPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

namespace {
struct FusedOptions : PassPipelineOptions<FusedOptions> {
  Option<Activations> activations{
      *this, "activations",
      llvm::cl::desc("how activations meet block-quantized weights"),
      llvm::cl::init(Activations::I8),
      llvm::cl::values(
          clEnumValN(Activations::I8, "i8", "8-bit integer products"),
          clEnumValN(Activations::F32, "f32", "everything in f32"))};
};
} // namespace

void tfm::registerPipelines() {
  PassPipelineRegistration<FusedOptions>(
      "tfm-to-fused", "from stage graph to stage fused",
      [](OpPassManager &manager, const FusedOptions &options) {
        buildFusedPipeline(manager, options.activations);
      });
  PassPipelineRegistration<>("tfm-to-kernels",
                             "from stage fused to stage kernels",
                             buildKernelsPipeline);
  PassPipelineRegistration<>("tfm-to-planned",
                             "from stage kernels to stage planned",
                             buildPlannedPipeline);
}
