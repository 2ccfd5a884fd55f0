//===- Compiler.cpp - From planned IR to a program ------------------------===//

#include "codegen/Compiler.h"

#include "codegen/ObjectCache.h"
#include "codegen/halide/HalideCodegen.h"
#include "codegen/halide/Packing.h"
#include "codegen/llvm/HostObject.h"
#include "codegen/llvm/Passes.h"
#include "dialect/Weights.h"
#include "mlir/Pass/PassManager.h"
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
    if (llvm::sys::fs::createUniqueDirectory("tfmc", path))
      path.clear();
  }
  ~ScratchFolder() {
    if (isValid())
      llvm::sys::fs::remove_directories(path);
  }
  bool isValid() const { return !path.empty(); }

  /// The path of a new file in the folder.
  std::string getPath(const Twine &name) const {
    SmallString<128> result = path;
    llvm::sys::path::append(result, name);
    return result.str().str();
  }

private:
  SmallString<128> path;
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
      cache.insert(job.symbol, job.object);
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
    for (size_t i; (i = next++) < jobs.size();)
      run(jobs[i]);
  };
  std::vector<std::thread> workers;
  for (unsigned i = 1; i < options.threads; ++i)
    workers.emplace_back(work);
  work();
  for (std::thread &worker : workers)
    worker.join();

  for (KernelJob &job : jobs) {
    if (job.isFailed)
      return failure();
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
    os.write_zeros(*weight.getPlacement() - end);
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
    end = *weight.getPlacement() + bytes.size();
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
  if (!scratch.isValid())
    return module.emitError("cannot create a temporary folder");
  if (failed(describe()) || failed(compileKernels()) ||
      failed(writeWeights()) || failed(compileHostCode()))
    return failure();
  Stopwatch watch;
  if (llvm::Error error =
          link(inputs, options.form, options.runtimeFolder, options.output))
    return module.emitError() << llvm::toString(std::move(error));
  report(llvm::formatv("link     {0,64:f2} s", watch.seconds()));
  return success();
}

LogicalResult tfm::compileModel(ModuleOp module,
                                const CompileOptions &options) {
  return ModelCompiler(module, options).compile();
}

std::string tfm::getSummary(ModuleOp planned) {
  std::string summary;
  llvm::raw_string_ostream os(summary);
  int64_t context = 0;
  if (auto model = planned->getAttrOfType<ModelAttr>("tfm.model"))
    context = model.getContextLength();
  KvCacheType cache;
  for (func::FuncOp function : planned.getOps<func::FuncOp>()) {
    if (auto arena = function->getAttrOfType<ArenaAttr>("tfm.arena"))
      os << "arena of " << function.getSymName() << ": " << arena.getPerRow()
         << "·B·S + " << arena.getPerSample() << "·B + " << arena.getFixed()
         << " bytes\n";
    for (Type type : function.getArgumentTypes())
      if (auto found = dyn_cast<KvCacheType>(type))
        cache = found;
  }
  if (cache) {
    int64_t perPosition = cache.getLayers() * cache.getHeads() *
                          (cache.getKeySize() + cache.getValueSize()) *
                          (cache.getElementType().isF16() ? 2 : 4);
    os << "cache: " << perPosition << " bytes per position and sample, "
       << llvm::formatv("{0:f1}", perPosition * context * 1e-6) << " MB for "
       << context << " positions\n";
  }
  return summary;
}
