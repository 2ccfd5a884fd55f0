//===- Compiler.cpp - From planned IR to a program ------------------------===//

#include "codegen/Compiler.h"

#include "codegen/ObjectCache.h"
#include "codegen/halide/HalideCodegen.h"
#include "codegen/halide/Packing.h"
#include "codegen/llvm/HostObject.h"
#include "codegen/llvm/Passes.h"
#include "dialect/Weights.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/include/tfm_abi.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <atomic>
#include <chrono>
#include <thread>

using namespace mlir;
using namespace mlir::tfm;

namespace {
/// A folder for intermediate files, gone at the end.
class ScratchFolder {
public:
  ScratchFolder() {
    error = llvm::sys::fs::createUniqueDirectory("tfmc", path);
  }
  ~ScratchFolder() {
    if (!error)
      llvm::sys::fs::remove_directories(path);
  }
  /// Why there is no folder.
  std::error_code getError() const { return error; }

  /// The path of a new file in the folder.
  std::string getPath(const Twine &name) const {
    SmallString<128> result = path;
    llvm::sys::path::append(result, name);
    return result.str().str();
  }

private:
  SmallString<128> path;
  std::error_code error;
};

/// Seconds since it was made.
class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
};

/// One kernel for one target.
struct KernelJob {
  KernelOp kernel;
  InstructionSet isa;
  std::string symbol;
  std::vector<char> object;
  std::error_code cacheError = {};
  bool isCached = false, isGeneric = false, isFailed = false;
  double seconds = 0;
};

class ModelCompiler {
public:
  ModelCompiler(ModuleOp module, const CompileOptions &options)
      : module(module), options(options), cache(options.cacheFolder) {}

  LogicalResult compile();

private:
  LogicalResult describe();
  LogicalResult compileKernels();
  void run(KernelJob &job);
  LogicalResult writeWeights();
  LogicalResult compileHostCode();
  LogicalResult writeFile(StringRef path, ArrayRef<char> bytes);
  void report(const Twine &line);
  bool mustStop() const { return options.mustStop && options.mustStop(); }

  ModuleOp module;
  const CompileOptions &options;
  ObjectCache cache;
  ScratchFolder scratch;
  ModelDescription description;
  std::mutex progressMutex;
  SmallVector<std::string> inputs; ///< of the linker
};
} // namespace

void ModelCompiler::report(const Twine &line) {
  if (!options.progress)
    return;
  std::lock_guard<std::mutex> lock(progressMutex);
  *options.progress << line << "\n";
}

LogicalResult ModelCompiler::writeFile(StringRef path, ArrayRef<char> bytes) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (!error) {
    os.write(bytes.data(), bytes.size());
    os.close();
    error = os.error();
    os.clear_error();
  }
  if (error)
    return module.emitError()
           << "cannot write " << path << ": " << error.message();
  return success();
}

LogicalResult ModelCompiler::describe() {
  description.model = module->getAttrOfType<ModelAttr>("tfm.model");
  if (!description.model)
    return module.emitError("expects a module with tfm.model");
  description.compiler = "tfmc " TFM_VERSION;
  description.summary = getSummary(module);
  for (func::FuncOp function : module.getOps<func::FuncOp>()) {
    auto entry = describeEntryPoint(function);
    if (failed(entry))
      return failure();
    description.entryPoints.push_back(*entry);
    for (Type type : function.getArgumentTypes())
      if (auto cacheType = dyn_cast<KvCacheType>(type))
        description.cache = cacheType;
  }
  if (description.entryPoints.empty())
    return module.emitError("expects at least one function, but got none");
  for (ResourceOp resource : module.getOps<ResourceOp>()) {
    FailureOr<std::string> bytes = options.readResource(resource);
    if (failed(bytes))
      return failure();
    description.resources.push_back({resource.getKind().str(), *bytes});
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The kernel as text that says everything that its object depends on.
static std::string getSource(KernelOp kernel, InstructionSet isa) {
  std::string source = getName(isa).str();
  llvm::raw_string_ostream os(source);
  kernel->print(os, OpPrintingFlags().useLocalScope());
  return source;
}

void ModelCompiler::run(KernelJob &job) {
  Stopwatch watch;
  if (auto object = cache.find(job.symbol)) {
    job.object = std::move(*object);
    job.isCached = true;
  } else {
    FailureOr<KernelObject> compiled =
        compileKernel(job.kernel, job.isa, job.symbol);
    job.isFailed = failed(compiled);
    if (job.isFailed)
      return;
    job.object = std::move(compiled->bytes);
    job.isGeneric = compiled->isGeneric;
    // The remark about a generic schedule is due every time.
    if (!job.isGeneric)
      job.cacheError = cache.insert(job.symbol, job.object);
  }
  job.seconds = watch.seconds();
  report(llvm::formatv("kernel   {0,-44} {1,-10} {2,6:f2} s{3}",
                       job.kernel.getSymName(), getName(job.isa), job.seconds,
                       job.isCached ? "  cached" : ""));
}

LogicalResult ModelCompiler::compileKernels() {
  Stopwatch watch;
  std::vector<KernelJob> jobs;
  for (InstructionSet isa : options.targets) {
    ModelDescription::Target target{
        getName(isa).str(), getCpuFeatures(isa), {}};
    for (KernelOp kernel : module.getOps<KernelOp>()) {
      std::string symbol = ObjectCache::getKey(getSource(kernel, isa));
      target.kernels.push_back(symbol);
      jobs.push_back({kernel, isa, symbol, {}});
    }
    description.targets.push_back(target);
  }

  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < jobs.size() && !mustStop();)
      run(jobs[i]);
  };
  std::vector<std::thread> workers;
  for (unsigned i = 1; i < options.threads; ++i)
    workers.emplace_back(work);
  work();
  for (std::thread &worker : workers)
    worker.join();
  if (mustStop())
    return failure();

  bool hasWarned = false;
  for (KernelJob &job : jobs) {
    if (job.isFailed)
      return failure();
    if (job.cacheError && !hasWarned) {
      module.emitWarning() << "compiled kernels are not kept: cannot write to "
                           << cache.getFolder() << ": "
                           << job.cacheError.message();
      hasWarned = true;
    }
    if (job.isGeneric)
      emitRemark(job.kernel.getLoc())
          << "kernel @" << job.kernel.getSymName()
          << " has no tuned schedule and got a generic one";
    inputs.push_back(scratch.getPath(job.symbol + ".o"));
    if (failed(writeFile(inputs.back(), job.object)))
      return failure();
  }
  report(llvm::formatv("kernels  {0} for {1} targets {2,27:f2} s", jobs.size(),
                       options.targets.size(), watch.seconds()));
  return success();
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Bytes between two weights, of which some may have been left out.
static constexpr uint64_t kLongestGap = uint64_t(1) << 30;

LogicalResult ModelCompiler::writeWeights() {
  Stopwatch watch;
  SymbolTable symbols(module);
  SmallVector<WeightOp> placed;
  for (WeightOp weight : module.getOps<WeightOp>())
    if (weight.getPlacement())
      placed.push_back(weight);
  llvm::sort(placed, [](WeightOp a, WeightOp b) {
    return *a.getPlacement() < *b.getPlacement();
  });

  std::string path = scratch.getPath("weights.bin");
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  WeightReader reader;
  uint64_t end = 0;
  for (WeightOp weight : placed) {
    // Not below the last one's end, and not where a file would be all zeros.
    uint64_t start = *weight.getPlacement();
    if (start < end || start - end > kLongestGap)
      return weight.emitOpError("expects to be placed from ")
             << end << " to " << end + kLongestGap << ", but is placed at "
             << *weight.getPlacement();
    os.write_zeros(start - end);
    auto packed = dyn_cast<PackedAttr>(weight.getSource());
    WeightOp source =
        packed ? symbols.lookup<WeightOp>(packed.getWeight().getAttr())
               : weight;
    FailureOr<ArrayRef<char>> stored = reader.read(source);
    if (failed(stored))
      return failure();
    std::vector<char> reordered;
    if (packed)
      reordered = packWeight(cast<RankedTensorType>(source.getType()),
                             packed.getPart(), *stored);
    ArrayRef<char> bytes = packed ? ArrayRef<char>(reordered) : *stored;
    os.write(bytes.data(), bytes.size());
    end = start + bytes.size();
  }
  os.close();
  if (!error)
    error = os.error();
  os.clear_error();
  if (error)
    return module.emitError()
           << "cannot write " << path << ": " << error.message();
  description.weightBytes = end;

  std::string assembly = getWeightAssembly(path);
  inputs.push_back(scratch.getPath("weights.s"));
  report(llvm::formatv("weights  {0,-44:f1} MB {1,17:f2} s", end * 1e-6,
                       watch.seconds()));
  return writeFile(inputs.back(), assembly);
}

//===----------------------------------------------------------------------===//
// Host code and linking
//===----------------------------------------------------------------------===//

LogicalResult ModelCompiler::compileHostCode() {
  Stopwatch watch;
  PassManager manager(module.getContext());
  manager.addPass(createLowerHostPass());
  if (options.instrument)
    options.instrument(manager);
  if (failed(manager.run(module)))
    return failure();
  auto object = compileHost(module, description);
  if (failed(object))
    return failure();
  inputs.push_back(scratch.getPath("host.o"));
  report(llvm::formatv("host     {0,64:f2} s", watch.seconds()));
  return writeFile(inputs.back(), *object);
}

LogicalResult ModelCompiler::compile() {
  if (std::error_code error = scratch.getError())
    return module.emitError() << "cannot create a temporary folder like "
                              << scratch.getPath("") << ": " << error.message();
  if (failed(describe()) || failed(compileKernels()) ||
      failed(writeWeights()) || failed(compileHostCode()) || mustStop())
    return failure();
  Stopwatch watch;
  if (llvm::Error error =
          link(inputs, options.form, options.runtimeFolder, options.output)) {
    std::string message = llvm::toString(std::move(error));
    return mustStop() ? failure() : module.emitError() << message;
  }
  report(llvm::formatv("link     {0,64:f2} s", watch.seconds()));
  return success();
}

LogicalResult tfm::compileModel(ModuleOp module,
                                const CompileOptions &options) {
  return ModelCompiler(module, options).compile();
}

//===----------------------------------------------------------------------===//
// The plan of memory
//===----------------------------------------------------------------------===//

/// Bytes of the weight section.
static uint64_t getWeightBytes(ModuleOp planned) {
  uint64_t end = 0;
  for (WeightOp weight : planned.getOps<WeightOp>())
    if (std::optional<uint64_t> placement = weight.getPlacement())
      end = std::max(end, *placement + getStoredBytes(cast<RankedTensorType>(
                                           weight.getType())));
  return end;
}

/// Rows S of a call, as the runtime chooses them for a prompt that fills the
/// context.
static int64_t getRows(StringRef entryPoint, int64_t context) {
  int64_t rows = entryPoint == "decode"  ? 1
                 : entryPoint == "score" ? TFM_SCORE_CHUNK
                                         : TFM_PREFILL_CHUNK;
  return std::min(rows, context);
}

static std::string getFormula(ArenaAttr arena) {
  std::string formula;
  for (auto [bytes, factor] : {std::pair(arena.getPerRow(), "·B·S"),
                               {arena.getPerSample(), "·B"},
                               {arena.getFixed(), ""}})
    if (bytes != 0)
      formula +=
          (formula.empty() ? "" : " + ") + std::to_string(bytes) + factor;
  return formula.empty() ? "0" : formula;
}

std::string tfm::getSummary(ModuleOp planned) {
  auto model = planned->getAttrOfType<ModelAttr>("tfm.model");
  int64_t context = model ? model.getContextLength() : 0;
  std::string summary;
  llvm::raw_string_ostream os(summary);
  auto line = [&](const Twine &what, const Twine &formula, uint64_t bytes) {
    os << llvm::formatv("  {0,-17} {1} = {2} bytes\n", what.str(),
                        formula.str(), bytes);
  };

  os << "memory for B = 1 sample of T = " << context << " positions\n";
  uint64_t weights = getWeightBytes(planned), cacheBytes = 0, largest = 0;
  line("weights", "W", weights);
  KvCacheType cache;
  for (func::FuncOp function : planned.getOps<func::FuncOp>()) {
    for (Type type : function.getArgumentTypes())
      if (auto found = dyn_cast<KvCacheType>(type))
        cache = found;
    auto arena = function->getAttrOfType<ArenaAttr>("tfm.arena");
    if (!arena)
      continue;
    int64_t rows = getRows(function.getSymName(), context);
    uint64_t bytes =
        arena.getPerRow() * rows + arena.getPerSample() + arena.getFixed();
    largest = std::max(largest, bytes);
    line("arena of " + function.getSymName(),
         getFormula(arena) + " for S = " + Twine(rows), bytes);
  }
  if (cache) {
    int64_t tiles = llvm::divideCeil(context, TFM_CACHE_TILE);
    int64_t perPosition = cache.getLayers() * cache.getHeads() *
                          (cache.getKeySize() + cache.getValueSize()) *
                          (cache.getElementType().isF16() ? 2 : 4);
    cacheBytes = perPosition * tiles * TFM_CACHE_TILE;
    line("cache",
         Twine(perPosition) + "·B·T, T in tiles of " + Twine(TFM_CACHE_TILE) +
             ",",
         cacheBytes);
  }
  line("peak", "W + cache + largest arena", weights + cacheBytes + largest);
  return summary;
}
