//===- PipelineCheck.h - A module before and after each pass ----*- C++ -*-===//

#ifndef TFM_TEST_RANDOM_PIPELINECHECK_H
#define TFM_TEST_RANDOM_PIPELINECHECK_H

#include "test/random/Compare.h"
#include "test/random/Steps.h"

namespace mlir::tfm {

/// What is wrong, with the IR that shows it.
struct Finding {
  std::string message;
  std::string before, after;
};

/// What a module computes. Says what is wrong if it does not compute.
using Observation = SmallVector<Array>;
using Observe =
    std::function<std::optional<std::string>(ModuleOp, Observation &)>;

struct PipelineCheck {
  Observe observe;
  /// How far a pass may take the numbers.
  std::function<Tolerance(const Step &)> tolerance;
  /// Whether it is fine for the pass to report an error, and to end there.
  std::function<bool(const Step &)> mayRefuse = [](const Step &) {
    return false;
  };
  /// Called with the module after each pass.
  std::function<std::optional<std::string>(const Step &, ModuleOp)> after;

  /// Runs every pass on `module` and checks that the numbers stay, that a
  /// second run changes nothing, and that the IR prints and parses.
  std::optional<Finding> run(ModuleOp module, Activations activations) const;
};

} // namespace mlir::tfm

#endif // TFM_TEST_RANDOM_PIPELINECHECK_H
