//===- PipelineCheck.cpp - A module before and after each pass ------------===//

#include "test/random/PipelineCheck.h"

using namespace mlir;
using namespace mlir::tfm;

namespace {
/// Collects what is reported meanwhile.
class Diagnostics {
public:
  explicit Diagnostics(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            text += "\n  " + diagnostic.str();
          return success();
        }) {}

  std::string text;

private:
  ScopedDiagnosticHandler handler;
};
} // namespace

std::optional<Finding> PipelineCheck::run(ModuleOp module,
                                          Activations activations) const {
  Diagnostics diagnostics(module.getContext());
  std::string before = print(module), text = before;
  auto find = [&](const std::string &what) {
    return Finding{what + diagnostics.text, before, text};
  };
  Observation expected;
  if (auto error = observe(module, expected))
    return find("the graph does not run: " + *error);
  if (auto error = checkRoundTrip(module))
    return find("the graph " + *error);

  for (const Step &step : getSteps(activations)) {
    auto at = [&](const Twine &what) {
      text = print(module);
      return find("after " + step.pass + ": " + what.str());
    };
    before = print(module);
    if (failed(runStep(step.pass, module))) {
      if (mayRefuse(step))
        return std::nullopt;
      return at("the pass fails");
    }
    text = print(module);
    if (auto error = checkRoundTrip(module))
      return at(*error);
    OwningOpRef<ModuleOp> twice = module.clone();
    if (failed(runStep(step.pass, *twice)))
      return at("a second run fails");
    if (print(*twice) != text) {
      before = text;
      text = print(*twice);
      return find("a second run of " + step.pass + " changes the IR");
    }
    if (after)
      if (auto error = after(step, module))
        return at(*error);
    if (text == before)
      continue;

    Observation actual;
    if (auto error = observe(module, actual))
      return at(*error);
    if (actual.size() != expected.size())
      return at("another number of results");
    Tolerance allowed = tolerance(step);
    for (auto [i, pair] : llvm::enumerate(llvm::zip_equal(expected, actual)))
      if (auto error = compare(std::get<0>(pair), std::get<1>(pair), allowed))
        return at("result " + Twine(i) + ", " + *error);
    expected = std::move(actual);
  }
  return std::nullopt;
}
