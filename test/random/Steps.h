//===- Steps.h - The pipeline, one pass at a time ---------------*- C++ -*-===//

#ifndef TFM_TEST_RANDOM_STEPS_H
#define TFM_TEST_RANDOM_STEPS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/Pipelines.h"

namespace mlir::tfm {

/// One pass, and the stage that it is on the way to.
struct Step {
  std::string pass; ///< as in a textual pipeline
  std::string stage;

  bool is(StringRef name) const { return StringRef(pass).contains(name); }
};

/// What passes/Pipelines.cpp orders, from graph to planned.
SmallVector<Step> getSteps(Activations activations);

/// Runs the pass, with the verifier after it.
LogicalResult runStep(StringRef pass, ModuleOp module);

std::string print(ModuleOp module);

/// Says what is wrong if printing and parsing changes `module`.
std::optional<std::string> checkRoundTrip(ModuleOp module);

/// Registers the passes and dialects that steps need.
void registerSteps(DialectRegistry &registry);

} // namespace mlir::tfm

#endif // TFM_TEST_RANDOM_STEPS_H
