//===- tfmc.cpp - The compiler's command line -----------------------------===//
//
// Options, stages in their order, and what goes to which file.
//
//===----------------------------------------------------------------------===//

#include "codegen/Compiler.h"
#include "codegen/ObjectCache.h"
#include "codegen/llvm/Passes.h"
#include "import/Import.h"
#include "import/Resources.h"
#include "import/SafetensorsWeights.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "passes/Pipelines.h"
#include "runtime/include/tfm_abi.h"
#include "tools/tfmc/IrDump.h"
#include "tools/tfmc/Reporter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/TargetParser/Host.h"
#include <CLI/CLI.hpp>
#include <csignal>
#include <thread>

using namespace mlir;
using namespace mlir::tfm;

/// Set by a signal that asks tfmc to end. It stops where nothing is half done.
static volatile std::sig_atomic_t interrupted = 0;

namespace {
enum class Stage { Graph, Fused, Kernels, Planned, Llvm, Obj, So, Exe };

struct Options {
  std::string input, output, weights, dumpFolder;
  Stage stage = Stage::Exe;
  std::vector<std::string> march;
  Activations activations = Activations::I8;
  int64_t context = 0; ///< 0: the model's own
  std::string cacheFolder = ObjectCache::getDefaultFolder();
  bool isVerbose = false;
  bool showsRemarks = false, isStrict = false, failsOnFallback = false;
};

/// Compiles one model as the options say.
class Driver {
public:
  Driver(const Options &options, StringRef program)
      : options(options), program(program),
        reporter(policy(options.isStrict), policy(options.failsOnFallback)),
        dump(options.dumpFolder) {
    context.appendDialectRegistry([] {
      DialectRegistry registry;
      registry
          .insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect,
                  memref::MemRefDialect, tensor::TensorDialect, TfmDialect>();
      return registry;
    }());
    // Dumps and messages come in the order of the passes.
    context.disableMultithreading();
    context.printOpOnDiagnostic(false);
    context.getDiagEngine().registerHandler(
        [this](Diagnostic &diagnostic) { return reporter.print(diagnostic); });
  }

  LogicalResult run();

private:
  RemarkPolicy policy(bool refuses) const {
    return refuses                ? RemarkPolicy::Refuse
           : options.showsRemarks ? RemarkPolicy::Show
                                  : RemarkPolicy::Count;
  }
  /// Whether the compilation should end without a result, for which there is a
  /// reason on standard error already.
  bool mustStop() const {
    return interrupted || reporter.hasRefused() || dump.hasFailed();
  }

  LogicalResult checkPaths();
  LogicalResult load();
  void describeModel();
  LogicalResult limitContext();
  LogicalResult runPasses(void (*build)(OpPassManager &, Activations));
  LogicalResult print();
  FailureOr<SmallVector<InstructionSet>> chooseTargets();
  LogicalResult build();
  std::string getOutput() const;
  bool printsToStdout() const {
    return options.stage <= Stage::Llvm &&
           (options.output.empty() || options.output == "-");
  }

  const Options &options;
  StringRef program;
  Reporter reporter;
  IrDump dump;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

/// Finds out early what would spoil the end.
LogicalResult Driver::checkPaths() {
  auto refuse = [](const Twine &message) {
    llvm::errs() << "error: " << message << "\n";
    return failure();
  };
  if (!options.dumpFolder.empty())
    if (std::error_code error =
            llvm::sys::fs::create_directories(options.dumpFolder))
      return refuse("cannot create " + options.dumpFolder + ": " +
                    error.message());
  if (printsToStdout())
    return success();
  std::string output = getOutput();
  if (llvm::sys::fs::equivalent(options.input, output))
    return refuse("expects an output other than the model, but both are " +
                  output + "; name another with -o");
  // It is put in the place of what has its name, which may be the system's.
  if (llvm::sys::fs::exists(output) && !llvm::sys::fs::is_regular_file(output))
    return refuse("expects a file to write, but " + output +
                  " is a folder, a pipe or a device");
  StringRef folder = llvm::sys::path::parent_path(output);
  if (std::error_code error =
          llvm::sys::fs::access(folder.empty() ? StringRef(".") : folder,
                                llvm::sys::fs::AccessMode::Write))
    return refuse("cannot write " + output + ": " + error.message());
  return success();
}

LogicalResult Driver::load() {
  if (llvm::sys::path::extension(options.input) == ".mlir") {
    auto loc = FileLineColLoc::get(&context, options.input, 0, 0);
    auto file = llvm::MemoryBuffer::getFile(options.input);
    if (!file)
      return emitError(loc) << "cannot be read: " << file.getError().message();
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
    module = parseSourceFile<ModuleOp>(sources, &context);
  } else {
    module = importModel(options.input, context);
  }
  if (!module)
    return failure();
  if (!options.weights.empty() &&
      failed(bindNamedWeights(*module, options.weights)))
    return failure();
  if (!(*module)->hasAttr("tfm.model"))
    describeModel();
  if (!module->getOps<LLVM::LLVMFuncOp>().empty())
    return module->emitError("expects IR of stage graph, fused, kernels or "
                             "planned, but got that of stage llvm, which holds "
                             "no kernels");
  dump.write("import", *module);
  reporter.endImport();
  return success();
}

/// A model that someone wrote without saying what it is has a name, but neither
/// context nor vocabulary.
void Driver::describeModel() {
  context.loadDialect<TfmDialect>();
  (*module)->setAttr(
      "tfm.model",
      ModelAttr::get(&context, llvm::sys::path::stem(options.input), "custom",
                     /*contextLength=*/1, /*vocabulary=*/0, /*bos=*/-1,
                     /*eos=*/-1, /*addBos=*/false));
}

/// Compiles for a smaller context than the model's.
LogicalResult Driver::limitContext() {
  if (options.context == 0)
    return success();
  auto model = (*module)->getAttrOfType<ModelAttr>("tfm.model");
  if (!model || options.context > model.getContextLength())
    return module->emitError() << "expects a context of at most "
                               << (model ? model.getContextLength() : 0)
                               << " tokens, but got " << options.context;
  (*module)->setAttr("tfm.model",
                     ModelAttr::get(&context, model.getName(),
                                    model.getArchitecture(), options.context,
                                    model.getVocabulary(), model.getBos(),
                                    model.getEos(), model.getAddBos()));
  return success();
}

LogicalResult Driver::runPasses(void (*build)(OpPassManager &, Activations)) {
  PassManager manager(&context);
  build(manager, options.activations);
  dump.attach(manager);
  return failure(failed(manager.run(*module)) || mustStop());
}

std::string Driver::getOutput() const {
  if (!options.output.empty())
    return options.output;
  std::string stem = llvm::sys::path::stem(options.input).str();
  return options.stage == Stage::So    ? stem + ".so"
         : options.stage == Stage::Obj ? stem + ".o"
                                       : stem;
}

/// Writes the IR to the output, or to standard output if none is named.
LogicalResult Driver::print() {
  if (printsToStdout()) {
    module->print(llvm::outs());
    llvm::outs() << "\n";
    llvm::outs().flush();
    std::error_code error = llvm::outs().error();
    llvm::outs().clear_error();
    if (!error)
      return success();
    return module->emitError()
           << "cannot write to standard output: " << error.message();
  }
  SmallString<128> partial;
  int file;
  std::error_code error = llvm::sys::fs::createUniqueFile(
      options.output + ".%%%%%%.part", file, partial);
  if (!error) {
    llvm::raw_fd_ostream os(file, /*shouldClose=*/true);
    module->print(os);
    os << "\n";
    os.close();
    error = os.error();
    os.clear_error();
  }
  if (!error)
    error = llvm::sys::fs::rename(partial, options.output);
  if (!error)
    return success();
  llvm::sys::fs::remove(partial);
  return module->emitError()
         << "cannot write " << options.output << ": " << error.message();
}

/// The best instruction set that this machine has.
static std::optional<InstructionSet> detectInstructionSet() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto hasAll = [&](std::initializer_list<StringRef> names) {
    return llvm::all_of(names,
                        [&](StringRef name) { return features.lookup(name); });
  };
  uint32_t bits = 0;
  if (hasAll({"avx2", "fma", "f16c"}))
    bits |= TFM_CPU_AVX2;
  if (hasAll({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}))
    bits |= TFM_CPU_AVX512;
  if (hasAll({"avx512vnni", "avx512vbmi", "avx512vbmi2", "avx512ifma",
              "avx512bitalg", "avx512vpopcntdq", "avx512bf16"}))
    bits |= TFM_CPU_AVX512_VNNI;
  for (InstructionSet isa : getInstructionSets())
    if ((getCpuFeatures(isa) & ~bits) == 0)
      return isa;
  return std::nullopt;
}

FailureOr<SmallVector<InstructionSet>> Driver::chooseTargets() {
  std::vector<InstructionSet> wanted;
  for (const std::string &name : options.march) {
    std::optional<InstructionSet> isa =
        name == "native" ? detectInstructionSet() : parseInstructionSet(name);
    if (!isa)
      return module->emitError("this machine has none of the instruction sets "
                               "that kernels are compiled for; name some with "
                               "--march");
    wanted.push_back(*isa);
  }
  // The best first, each once.
  SmallVector<InstructionSet> result;
  for (InstructionSet isa : getInstructionSets())
    if (llvm::is_contained(wanted, isa))
      result.push_back(isa);
  return result;
}

LogicalResult Driver::build() {
  CompileOptions compile;
  auto targets = chooseTargets();
  if (failed(targets))
    return failure();
  compile.targets = *targets;
  compile.form = options.stage == Stage::Obj  ? LinkedForm::Object
                 : options.stage == Stage::So ? LinkedForm::Library
                                              : LinkedForm::Executable;
  compile.output = getOutput();
  compile.cacheFolder = options.cacheFolder;
  SmallString<128> runtime(llvm::sys::path::parent_path(program));
  llvm::sys::path::append(runtime, "..", "lib");
  compile.runtimeFolder = runtime.str().str();
  compile.readResource = readResource;
  compile.threads = std::max(1u, std::thread::hardware_concurrency());
  compile.mustStop = [this] { return mustStop(); };
  compile.instrument = [this](PassManager &manager) { dump.attach(manager); };
  if (options.isVerbose) {
    llvm::errs() << getSummary(*module);
    compile.progress = &llvm::errs();
  }
  return compileModel(*module, compile);
}

LogicalResult Driver::run() {
  if (failed(checkPaths()) || failed(load()) || failed(limitContext()) ||
      mustStop())
    return failure();
  // Each pass leaves alone what it has done: IR of any stage goes on from
  // there.
  const std::pair<Stage, void (*)(OpPassManager &, Activations)> steps[] = {
      {Stage::Fused, buildFusedPipeline},
      {Stage::Kernels, [](OpPassManager &manager,
                          Activations) { buildKernelsPipeline(manager); }},
      {Stage::Planned, [](OpPassManager &manager, Activations) {
         buildPlannedPipeline(manager);
       }}};
  for (auto [stage, build] : steps)
    if (options.stage >= stage && failed(runPasses(build)))
      return failure();
  if (options.stage == Stage::Llvm &&
      failed(runPasses([](OpPassManager &manager, Activations) {
        manager.addPass(createLowerHostPass());
      })))
    return failure();
  if (failed(options.stage <= Stage::Llvm ? print() : build()))
    return failure();
  reporter.summarize();
  return success();
}

static void handleSignals() {
  struct sigaction action = {};
  action.sa_handler = [](int signal) { interrupted = signal; };
  action.sa_flags = SA_RESETHAND; // the second one ends tfmc at once
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    sigaction(signal, &action, nullptr);
  std::signal(SIGXFSZ, SIG_IGN); // seen as a failed write
}

int main(int argc, char **argv) {
  Options options;
  options.march = {"native"};
  CLI::App app("Compiles a Transformer to a native program.", "tfmc");
  app.footer(
      "Example: tfmc model.gguf -o model && ./model \"Once upon a time\"");
  app.add_option("model", options.input,
                 "a GGUF file, a Hugging Face directory, or .mlir in the tfm "
                 "dialect")
      ->required();
  app.add_option("-o,--output", options.output,
                 "the file to write (default: the model's name; IR: standard "
                 "output)");
  app.add_option("--weights", options.weights,
                 "the safetensors file whose tensors an .mlir model names")
      ->option_text("FILE");
  app.add_option("--emit", options.stage,
                 "the stage to stop at: graph, fused, kernels, planned, llvm, "
                 "obj, so or exe")
      ->option_text("STAGE")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Stage>{{"graph", Stage::Graph},
                                       {"fused", Stage::Fused},
                                       {"kernels", Stage::Kernels},
                                       {"planned", Stage::Planned},
                                       {"llvm", Stage::Llvm},
                                       {"obj", Stage::Obj},
                                       {"so", Stage::So},
                                       {"exe", Stage::Exe}}));
  app.add_option("--march", options.march,
                 "instruction sets of the kernels: native, avx2, avx512, "
                 "avx512vnni; the program picks the best that it finds")
      ->option_text("NAME,...")
      ->delimiter(',')
      ->check(CLI::IsMember({"native", "avx2", "avx512", "avx512vnni"}));
  app.add_option("--activations", options.activations,
                 "i8 (integer products with quantized weights) or f32")
      ->option_text("KIND")
      ->transform(CLI::CheckedTransformer(std::map<std::string, Activations>{
          {"i8", Activations::I8}, {"f32", Activations::F32}}));
  app.add_option("--ctx", options.context,
                 "the largest context, at most the model's (default)")
      ->option_text("TOKENS")
      ->check(CLI::PositiveNumber);
  app.add_option("--dump-ir-dir", options.dumpFolder,
                 "write the IR after each pass to a numbered file")
      ->option_text("FOLDER");
  app.add_option("--cache-dir", options.cacheFolder,
                 "where compiled kernels are kept (default: TFM_CACHE_DIR, "
                 "else tfm in the user's cache)")
      ->option_text("FOLDER");
  app.add_flag("--remarks", options.showsRemarks,
               "say what of the model was left over, and what was not fused, "
               "fell back or got a generic schedule");
  app.add_flag("--strict", options.isStrict,
               "fail if anything of the model is left over");
  app.add_flag("--fail-on-fallback", options.failsOnFallback,
               "fail if anything falls back");
  app.add_flag(
      "-v,--verbose", options.isVerbose,
      "the plan of memory, and a line per kernel and step, with times");
  app.set_version_flag("--version", "tfmc " TFM_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    int status = app.exit(error);
    return status == 0 ? 0 : 2;
  }
  std::string program = llvm::sys::fs::getMainExecutable(
      argv[0], reinterpret_cast<void *>(&detectInstructionSet));
  handleSignals();
  LogicalResult result = Driver(options, program).run();
  if (interrupted)
    return 128 + interrupted;
  return failed(result) ? 1 : 0;
}
