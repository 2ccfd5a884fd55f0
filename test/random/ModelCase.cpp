//===- ModelCase.cpp - A random decoder through the pipeline --------------===//

#include "test/random/Cases.h"
#include "test/random/Decoder.h"
#include "test/random/RandomModel.h"
#include "test/random/Spellings.h"
#include <cmath>

using namespace mlir;
using namespace mlir::tfm;

/// See README.md for how these numbers follow.
static Tolerance toleranceOf(const Step &step, const RandomModel &model) {
  const ModelShape &shape = model.shape;
  double scores = 2 * std::sqrt(static_cast<double>(shape.keySize));
  Tolerance tolerance;
  tolerance.typicalNorm = std::sqrt(static_cast<double>(shape.vocabulary));
  if (step.is("tfm-fuse-attention"))
    tolerance.ofRow = shape.layers * (4 + 2 * kScoreRoundings * scores) * kUnit;
  if (step.is("element=f16"))
    tolerance.ofRow = shape.layers * (1 + 2 * scores) * kHalfUnit;
  if (step.is("tfm-quantize-activations"))
    tolerance.ofRow = (5 * shape.layers + 1) * std::sqrt(32.0) / 254;
  return tolerance;
}

std::optional<Finding> tfm::checkModel(MLIRContext *context, Random &random) {
  RandomModel model = makeModel(context, random);
  Schedule schedule = makeSchedule(model.shape.vocabulary, random);
  PipelineCheck check;
  check.observe = [&](ModuleOp module, Observation &observation) {
    return Decoder(module, schedule, model.shape.vocabulary)
        .observe(observation);
  };
  check.tolerance = [&](const Step &step) { return toleranceOf(step, model); };
  check.after = [](const Step &step,
                   ModuleOp module) -> std::optional<std::string> {
    if (step.is("tfm-insert-kv-cache") && !module.lookupSymbol("score"))
      return "expects a cache";
    return std::nullopt;
  };
  for (Activations activations : {Activations::F32, Activations::I8}) {
    OwningOpRef<ModuleOp> module = model.module->clone();
    if (auto finding = check.run(*module, activations))
      return finding;
  }
  return std::nullopt;
}
