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
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "passes/Pipelines.h"
#include "runtime/include/tfm_abi.h"
#include "tools/tfmc/IrDump.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/TargetParser/Host.h"
#include <CLI/CLI.hpp>
#include <thread>

using namespace mlir;
using namespace mlir::tfm;

namespace {
enum class Stage { Graph, Fused, Kernels, Planned, Llvm, Obj, So, Exe };

struct Options {
  std::string input, output, dumpFolder;
  Stage stage = Stage::Exe;
  std::vector<std::string> march;
  Activations activations = Activations::I8;
  int64_t context = 0; ///< 0: the model's own
  std::string cacheFolder = ObjectCache::getDefaultFolder();
  bool isVerbose = false;
};

/// Compiles one model as the options say.
class Driver {
public:
  Driver(const Options &options, StringRef program)
      : options(options), program(program) {
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
    context.getDiagEngine().registerHandler(printDiagnostic);
  }

  LogicalResult run();

private:
  static LogicalResult printDiagnostic(Diagnostic &diagnostic);
  LogicalResult load();
  LogicalResult limitContext();
  LogicalResult runPasses(void (*build)(OpPassManager &, Activations));
  LogicalResult print();
  FailureOr<SmallVector<InstructionSet>> chooseTargets();
  LogicalResult build();
  std::string getOutput();

  const Options &options;
  StringRef program;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  unsigned dumps = 0;
};
} // namespace

/// `file:line:column: severity: text`, without line and column where a file has
/// none.
LogicalResult Driver::printDiagnostic(Diagnostic &diagnostic) {
  auto &os = llvm::errs();
  Location location = diagnostic.getLocation();
  if (auto file = location->findInstanceOf<FileLineColLoc>()) {
    os << file.getFilename().getValue() << ":";
    if (file.getLine() != 0)
      os << file.getLine() << ":" << file.getColumn() << ":";
    os << " ";
  } else if (auto name = location->findInstanceOf<NameLoc>()) {
    os << name.getName().getValue() << ": ";
  }
  switch (diagnostic.getSeverity()) {
  case DiagnosticSeverity::Error:
    os << "error: ";
    break;
  case DiagnosticSeverity::Warning:
    os << "warning: ";
    break;
  case DiagnosticSeverity::Remark:
    os << "remark: ";
    break;
  case DiagnosticSeverity::Note:
    os << "note: ";
    break;
  }
  os << diagnostic << "\n";
  for (Diagnostic &note : diagnostic.getNotes())
    (void)printDiagnostic(note);
  return success();
}

LogicalResult Driver::load() {
  if (llvm::sys::path::extension(options.input) == ".mlir")
    module = parseSourceFile<ModuleOp>(options.input, &context);
  else
    module = importModel(options.input, context);
  return success(static_cast<bool>(module));
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
  if (!options.dumpFolder.empty())
    dumpAfterEachPass(manager, options.dumpFolder, dumps);
  return manager.run(*module);
}

std::string Driver::getOutput() {
  if (!options.output.empty())
    return options.output;
  std::string stem = llvm::sys::path::stem(options.input).str();
  return options.stage == Stage::So    ? stem + ".so"
         : options.stage == Stage::Obj ? stem + ".o"
                                       : stem;
}

/// Writes the IR to the output, or to standard output if none is named.
LogicalResult Driver::print() {
  if (options.output.empty() || options.output == "-") {
    module->print(llvm::outs());
    llvm::outs() << "\n";
    return success();
  }
  std::string partial = options.output + ".part";
  std::error_code error;
  {
    llvm::raw_fd_ostream os(partial, error);
    if (!error) {
      module->print(os);
      os << "\n";
      os.close();
      error = os.error();
      os.clear_error();
    }
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
  if (options.isVerbose) {
    llvm::errs() << getSummary(*module);
    compile.progress = &llvm::errs();
  }
  return compileModel(*module, compile);
}

LogicalResult Driver::run() {
  if (!options.dumpFolder.empty())
    if (std::error_code error =
            llvm::sys::fs::create_directories(options.dumpFolder)) {
      llvm::errs() << "error: cannot create " << options.dumpFolder << ": "
                   << error.message() << "\n";
      return failure();
    }
  if (std::string output = getOutput();
      llvm::sys::fs::equivalent(options.input, output)) {
    llvm::errs() << "error: expects an output other than the model, but both "
                    "are "
                 << output << "; name another with -o\n";
    return failure();
  }
  if (failed(load()) || failed(limitContext()))
    return failure();
  if (options.stage >= Stage::Fused && failed(runPasses(buildFusedPipeline)))
    return failure();
  if (options.stage >= Stage::Kernels &&
      failed(runPasses([](OpPassManager &manager, Activations) {
        buildKernelsPipeline(manager);
      })))
    return failure();
  if (options.stage >= Stage::Planned &&
      failed(runPasses([](OpPassManager &manager, Activations) {
        buildPlannedPipeline(manager);
      })))
    return failure();
  if (options.stage == Stage::Llvm &&
      failed(runPasses([](OpPassManager &manager, Activations) {
        manager.addPass(createLowerHostPass());
      })))
    return failure();
  return options.stage <= Stage::Llvm ? print() : build();
}

int main(int argc, char **argv) {
  Options options;
  options.march = {"native"};
  CLI::App app("Compiles a Transformer to a native program.", "tfmc");
  app.footer(
      "Example: tfmc model.gguf -o model && ./model \"Once upon a time\"");
  app.add_option("model", options.input,
                 "a GGUF file, or .mlir in the tfm dialect")
      ->required();
  app.add_option("-o,--output", options.output,
                 "the file to write (default: the model's name; IR: standard "
                 "output)");
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
  app.add_flag("-v,--verbose", options.isVerbose,
               "a line per kernel and step, with times");
  app.set_version_flag("--version", "tfmc " TFM_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    int status = app.exit(error);
    return status == 0 ? 0 : 2;
  }
  std::string program = llvm::sys::fs::getMainExecutable(
      argv[0], reinterpret_cast<void *>(&detectInstructionSet));
  return failed(Driver(options, program).run()) ? 1 : 0;
}
