//===- KernelCase.cpp - Machine code against the interpreter --------------===//
//
// A random program up to its packed weights runs in the interpreter; what each
// kernel is launched with there, machine code is called with, too. It runs the
// whole output, then the tiles of the launch, then single rows where these are
// allowed: all must give the same bits.
//
//===----------------------------------------------------------------------===//

#include "codegen/halide/HalideCodegen.h"
#include "runtime/Cpu.h"
#include "test/random/Cases.h"
#include "test/random/Decoder.h"
#include "test/random/KernelBounds.h"
#include "test/random/MachineCall.h"
#include "test/random/RandomGraph.h"
#include "test/random/RandomModel.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/PrettyStackTrace.h"

using namespace mlir;
using namespace mlir::tfm;

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// Integers as f32, so that they can be compared with a tolerance.
static Array toFloats(const Array &array) {
  if (!array.elementType.isInteger(8))
    return array;
  Array floats = Array::zeros(Float32Type::get(array.elementType.getContext()),
                              array.shape);
  llvm::copy(array.as<int8_t>(), floats.floats().begin());
  return floats;
}

/// What the interpreter makes of a call, in the form of `MachineCall::run`,
/// with the error that machine code may make.
static std::optional<std::string>
interpret(Call &call, Interpreter &interpreter,
          SmallVector<RuntimeValue> &results, SmallVector<Array> &arrays,
          SmallVector<Tolerance> &tolerances) {
  auto bounds = boundResults(call.launch, call.arguments, interpreter);
  if (!bounds)
    return "there is no bound for the error";
  auto computed =
      interpreter.run(call.launch.getKernel(), copyOf(call.arguments));
  if (failed(computed))
    return "the interpreter reports an error";
  results = *computed;
  for (auto [result, bound] : llvm::zip_equal(results, *bounds)) {
    if (auto *array = std::get_if<Array>(&result)) {
      arrays.push_back(*array);
      tolerances.push_back({.absolute = bound.error});
      continue;
    }
    llvm::append_range(arrays,
                       elementsOf(*std::get<std::shared_ptr<Cache>>(result)));
    tolerances.append(2, Tolerance{.absolute = bound.error});
  }
  return std::nullopt;
}

/// Ways of cutting the output: as the launch does, and whole.
static SmallVector<SmallVector<int64_t>> chooseTiles(LaunchOp launch,
                                                     KernelOp kernel) {
  SmallVector<SmallVector<int64_t>> tiles = {
      SmallVector<int64_t>(launch.getTile())};
  auto has = [&](auto predicate) {
    return llvm::any_of(kernel.getBody().front(), predicate);
  };
  if (has(llvm::IsaPred<LinearOp, QuantizedLinearOp>)) {
    tiles.push_back({0, 0});
    tiles.push_back({1, 32}); // few rows
    tiles.push_back({9, 64});
  } else if (has(llvm::IsaPred<RmsNormOp, QuantizeOp>)) {
    tiles.push_back({1});
  } else if (has(llvm::IsaPred<AttentionOp, CacheAttentionOp>)) {
    // Single queries of a block of 8 aren't promised, blocks are.
    tiles.push_back(SmallVector<int64_t>(launch.getTile()));
    tiles.back()[launch.getTile().size() == 4 ? 2 : 1] = 8;
  }
  return tiles;
}

static std::optional<std::string> checkCall(Call &call, const MachineCode &code,
                                            Interpreter &interpreter) {
  SmallVector<RuntimeValue> results;
  SmallVector<Array> expected;
  SmallVector<Tolerance> tolerances;
  if (auto error = interpret(call, interpreter, results, expected, tolerances))
    return error;
  // Nothing is launched for an empty result, and kernels expect arguments that
  // are not empty.
  auto isEmpty = [](const RuntimeValue &value) {
    auto *array = std::get_if<Array>(&value);
    return array && array->size() == 0;
  };
  if (llvm::any_of(results, isEmpty) || llvm::any_of(call.arguments, isEmpty))
    return std::nullopt;

  MachineCall machine(call, results);
  auto kernel =
      interpreter.lookup<KernelOp>(call.launch, call.launch.getKernelAttr());
  std::optional<SmallVector<Array>> first;
  for (const SmallVector<int64_t> &tile : chooseTiles(call.launch, kernel)) {
    std::optional<SmallVector<Array>> actual = machine.run(code, tile);
    if (!actual)
      return "the kernel reports an error";
    std::string where = "tiles of [";
    for (int64_t size : tile)
      where += std::to_string(size) + " ";
    where.back() = ']';
    for (auto [i, array] : llvm::enumerate(*actual)) {
      if (auto error =
              compare(toFloats(expected[i]), toFloats(array), tolerances[i]))
        return where + ", result " + std::to_string(i) + " " + *error;
      if (first)
        if (auto error = compare(toFloats((*first)[i]), toFloats(array), {}))
          return where + " give other bits, result " + std::to_string(i) + " " +
                 *error;
    }
    first = std::move(actual);
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The case
//===----------------------------------------------------------------------===//

/// The instruction sets of this machine. Says once which are skipped.
static ArrayRef<InstructionSet> getRunnable() {
  static const SmallVector<InstructionSet> runnable = [] {
    SmallVector<InstructionSet> sets;
    uint32_t features = ::tfm::detectCpuFeatures();
    for (InstructionSet isa : getInstructionSets()) {
      if ((getCpuFeatures(isa) & ~features) == 0)
        sets.push_back(isa);
      else
        llvm::outs() << "skipped: kernels for " << getName(isa)
                     << ", which this processor cannot run\n";
    }
    return sets;
  }();
  return runnable;
}

std::optional<Finding> mlir::tfm::checkKernels(MLIRContext *context,
                                               Random &random) {
  // A program, and a way to run it.
  RandomModel model;
  RandomGraph graph;
  Schedule schedule;
  bool isModel = random.chance(60);
  if (isModel) {
    model = makeModel(context, random);
    schedule = makeSchedule(model.shape.vocabulary, random);
  } else {
    graph = random.chance(60)   ? makeAttentionGraph(context, random)
            : random.chance(50) ? makeLayerGraph(context, random)
                                : makeMapGraph(context, random);
  }
  ModuleOp module = isModel ? *model.module : *graph.module;

  std::string messages;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    messages += "\n  " + diagnostic.str();
    return success();
  });
  auto find = [&](const std::string &what, Operation *op) {
    Finding finding = {what + messages, print(module), ""};
    llvm::raw_string_ostream(finding.after) << *op << "\n";
    return finding;
  };
  Activations activations =
      random.of({Activations::F32, Activations::I8, Activations::I8});
  for (const Step &step : getSteps(activations)) {
    messages.clear();
    // Some graphs hold what kernels cannot do; the other cases look at that.
    if (failed(runStep(step.pass, module)))
      return std::nullopt;
    if (step.is("tfm-pack-weights"))
      break;
  }

  // What each kernel is launched with, few and many rows.
  llvm::MapVector<StringRef, SmallVector<Call>> calls;
  auto record = [&](LaunchOp launch, ArrayRef<RuntimeValue> arguments) {
    SmallVector<Call> &known = calls[launch.getKernel()];
    if (known.size() < 2)
      known.push_back({launch, copyOf(arguments)});
    else
      known[random.integer(0, 1)] = {launch, copyOf(arguments)};
  };
  messages.clear();
  Decoder decoder(module, schedule, isModel ? model.shape.vocabulary : 0);
  Interpreter &interpreter = decoder.getInterpreter();
  interpreter.observeLaunches(record);
  if (isModel) {
    SmallVector<Array> observation;
    if (auto error = decoder.observe(observation))
      return find(*error, module);
  } else if (failed(interpreter.run("forward", graph.arguments))) {
    return find("the interpreter reports an error", module);
  }
  interpreter.observeLaunches(nullptr);

  // Compiling takes most of the time: a few kernels of each program.
  while (calls.size() > 4)
    calls.erase(calls.begin() + random.integer(0, calls.size() - 1));
  for (auto &[name, ofKernel] : calls) {
    auto kernel = module.lookupSymbol<KernelOp>(name);
    for (InstructionSet isa : getRunnable()) {
      messages.clear();
      FailureOr<KernelObject> object = compileKernel(kernel, isa, "kernel");
      if (failed(object))
        return find("a kernel does not compile", kernel);
      std::string text;
      llvm::raw_string_ostream(text) << *kernel.getOperation();
      llvm::PrettyStackTraceString trace(text.c_str());
      MachineCode code(object->bytes, "kernel");
      if (!code)
        return find("a kernel cannot be loaded", kernel);
      for (Call &call : ofKernel)
        if (auto error = checkCall(call, code, interpreter))
          return find(
              ("@" + name + " for " + getName(isa) + ": " + *error).str(),
              kernel);
    }
  }
  return std::nullopt;
}
