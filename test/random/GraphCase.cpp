//===- GraphCase.cpp - A random graph through the pipeline ----------------===//

#include "test/random/Cases.h"
#include "test/random/Execution.h"
#include "test/random/RandomGraph.h"

using namespace mlir;
using namespace mlir::tfm;

/// Runs `@forward`, whose results have the given shapes if they are known yet.
static std::optional<std::string> runForward(ModuleOp module,
                                             ArrayRef<RuntimeValue> arguments,
                                             SmallVector<Shape> &shapes,
                                             Observation &observation) {
  Execution execution(module);
  auto results = execution.run(execution.find("forward"), arguments, shapes);
  if (failed(results))
    return "the interpreter reports an error";
  observation = *results;
  shapes.clear();
  for (const Array &result : observation)
    shapes.push_back(result.shape);
  return std::nullopt;
}

/// The largest sum of a row's magnitudes over all matrices.
static double largestRowSum(ModuleOp module) {
  Interpreter interpreter(module);
  double largest = 0;
  for (WeightOp weight : module.getOps<WeightOp>()) {
    FailureOr<Array> array = interpreter.load(weight);
    if (failed(array))
      continue;
    std::vector<float> row(array->lastDim());
    for (int64_t r = 0; r != array->rows(); ++r) {
      array->decodeRow(r, row);
      double sum = 0;
      for (float x : row)
        sum += std::abs(x);
      largest = std::max(largest, sum);
    }
  }
  return largest;
}

static double largestElement(const Array &array) {
  double largest = 0;
  for (float x : array.floats())
    largest = std::max<double>(largest, std::abs(x));
  return largest;
}

static std::optional<Finding> runGraph(RandomGraph graph,
                                       Activations activations,
                                       bool hasAttention = false) {
  SmallVector<Shape> shapes;
  double quantizationError = 0;
  PipelineCheck check;
  check.observe = [&](ModuleOp module, Observation &observation) {
    auto error = runForward(module, graph.arguments, shapes, observation);
    if (!error && activations == Activations::I8 && quantizationError == 0)
      // Each element of the input moves by half a step of its block at most.
      quantizationError = largestElement(observation.front()) / 254 *
                          largestRowSum(module) * (1 + 1e-4);
    return error;
  };
  check.tolerance = [&](const Step &step) {
    if (step.is("tfm-fuse-attention"))
      return Tolerance{.absolute = graph.fusionError};
    if (step.is("tfm-quantize-activations"))
      return Tolerance{.absolute = quantizationError};
    return Tolerance();
  };
  bool hasSeveral =
      graph.module->lookupSymbol<func::FuncOp>("forward").getNumResults() > 1;
  check.mayRefuse = [&](const Step &step) {
    // Arenas hold what grows with B and S only, kernels no masks by comparison,
    // and results that turn out to be equal are not planned.
    if (hasAttention && step.is("tfm-outline-kernels"))
      return true;
    return (hasAttention || hasSeveral) && step.is("tfm-plan-memory");
  };
  return check.run(*graph.module, activations);
}

std::optional<Finding> tfm::checkGraph(MLIRContext *context, Random &random) {
  switch (random.integer(0, 2)) {
  case 0:
    return runGraph(makeLayerGraph(context, random), Activations::F32);
  case 1:
    return runGraph(makeMapGraph(context, random), Activations::I8);
  default:
    return runGraph(makeAttentionGraph(context, random), Activations::F32,
                    /*hasAttention=*/true);
  }
}
