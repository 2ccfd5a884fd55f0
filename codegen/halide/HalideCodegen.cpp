//===- HalideCodegen.cpp - Kernels to machine code ------------------------===//
//
// The only file that meets Halide's exceptions. A kernel becomes two functions,
// for few and for many rows, and one that picks.
//
//===----------------------------------------------------------------------===//

#include "codegen/halide/HalideCodegen.h"

#include "codegen/halide/Emitter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::tfm;
namespace ir = Halide::Internal;

static Halide::Target getTarget(InstructionSet isa) {
  using Halide::Target;
  std::vector<Target::Feature> features = {
      Target::SSE41,     Target::AVX,       Target::AVX2,
      Target::FMA,       Target::F16C,      Target::UserContext,
      Target::NoAsserts, Target::NoRuntime, Target::NoBoundsQuery};
  if (isa != InstructionSet::Avx2)
    features.insert(features.end(), {Target::AVX512, Target::AVX512_Skylake});
  if (isa == InstructionSet::Avx512Vnni)
    features.insert(features.end(),
                    {Target::AVX512_Cannonlake, Target::AVX512_Zen4});
  return Target(Target::Linux, Target::X86, 64, features);
}

namespace {
/// One of the functions that a kernel becomes.
struct Variant {
  ir::LoweredFunc function;
  std::optional<std::string> lengths; ///< as `KernelEmitter::getLengths`
  size_t inputs;                      ///< without the length
  bool isGeneric;
};
} // namespace

/// Compiles one variant into `module`.
static FailureOr<Variant> compileVariant(KernelOp kernel, InstructionSet isa,
                                         Rows rows, const std::string &name,
                                         Halide::Module &module) {
  KernelEmitter emitter(kernel, isa, rows);
  if (failed(emitter.emit()))
    return failure();
  bool isGeneric = !emitter.schedule();
  Halide::Module compiled = emitter.getPipeline().compile_to_module(
      emitter.getArguments().vec(), name, getTarget(isa),
      Halide::LinkageType::Internal);
  for (const Halide::Buffer<> &buffer : compiled.buffers())
    module.append(buffer);
  for (const ir::LoweredFunc &function : compiled.functions())
    module.append(function);
  // Without it, code generation forgets what is strict.
  module.set_any_strict_float(module.any_strict_float() ||
                              compiled.any_strict_float());
  return Variant{compiled.get_function_by_name(name), emitter.getLengths(),
                 emitter.getArguments().size(), isGeneric};
}

static Halide::Expr getBuffer(const ir::LoweredArgument &argument) {
  return ir::Variable::make(Halide::type_of<struct halide_buffer_t *>(),
                            argument.name + ".buffer");
}

static Halide::Expr getField(const std::string &field, Halide::Type type,
                             std::vector<Halide::Expr> arguments) {
  return ir::Call::make(type, field, arguments, ir::Call::Extern);
}

/// The function `name`, which calls `many` if the first output has enough rows,
/// and `few` otherwise.
static ir::LoweredFunc createDispatch(const std::string &name,
                                      const Variant &few, const Variant &many) {
  std::vector<ir::LoweredArgument> arguments = few.function.args;
  // The user context comes before the inputs, the length after them.
  size_t lengthAt = 1 + few.inputs - few.lengths.has_value();
  if (few.lengths)
    arguments.erase(arguments.begin() + lengthAt);
  const ir::LoweredArgument &output = arguments[lengthAt];

  std::vector<Halide::Expr> passed;
  passed.reserve(arguments.size());
  for (const ir::LoweredArgument &argument : arguments)
    passed.push_back(argument.is_buffer()
                         ? getBuffer(argument)
                         : ir::Variable::make(argument.type, argument.name));
  if (few.lengths) {
    Halide::Expr sample = getField(ir::Call::buffer_get_min, Halide::Int(32),
                                   {getBuffer(output), output.dimensions - 1});
    passed.insert(passed.begin() + lengthAt,
                  ir::Load::make(Halide::Int(32), *few.lengths, sample, {}, {},
                                 ir::const_true(), {}));
  }
  auto call = [&](const Variant &variant) {
    std::string result = name + ".result";
    Halide::Expr value = ir::Variable::make(Halide::Int(32), result);
    return ir::LetStmt::make(result,
                             ir::Call::make(Halide::Int(32),
                                            variant.function.name, passed,
                                            ir::Call::Extern),
                             ir::AssertStmt::make(value == 0, value));
  };
  ir::Stmt body = call(few);
  if (few.function.name != many.function.name) {
    Halide::Expr rows = getField(ir::Call::buffer_get_extent, Halide::Int(32),
                                 {getBuffer(output), 1});
    body = ir::IfThenElse::make(rows >= kManyRows, call(many), body);
  }
  if (few.lengths)
    for (const ir::LoweredArgument &argument : arguments)
      if (argument.name == *few.lengths)
        body = ir::LetStmt::make(argument.name,
                                 getField(ir::Call::buffer_get_host,
                                          Halide::type_of<void *>(),
                                          {getBuffer(argument)}),
                                 body);
  return ir::LoweredFunc(name, arguments, body, Halide::LinkageType::External,
                         Halide::NameMangling::C);
}

/// Only these come in two variants; the rest is the same for any rows.
static bool needsVariants(KernelOp kernel) {
  return llvm::any_of(kernel.getBody().front(), [](Operation &op) {
    return isa<LinearOp, QuantizedLinearOp, AttentionOp, CacheAttentionOp>(op);
  });
}

static FailureOr<Halide::Module> createModule(KernelOp kernel,
                                              InstructionSet isa,
                                              StringRef symbol,
                                              bool &isGeneric) {
  std::string name = symbol.str();
  Halide::Module module(name, getTarget(isa));
  FailureOr<Variant> few =
      compileVariant(kernel, isa, Rows::Few, name + ".few", module);
  if (failed(few))
    return failure();
  FailureOr<Variant> many = few;
  if (needsVariants(kernel))
    many = compileVariant(kernel, isa, Rows::Many, name + ".many", module);
  if (failed(many))
    return failure();
  isGeneric = few->isGeneric;
  module.append(createDispatch(name, *few, *many));
  return module;
}

/// Runs `compile`, and reports what Halide throws at the kernel.
template <typename Compile>
static auto reportErrors(KernelOp kernel, Compile compile)
    -> decltype(compile()) {
  try {
    return compile();
  } catch (const Halide::Error &error) {
    kernel.emitOpError() << "cannot be compiled: "
                         << StringRef(error.what()).trim();
    return failure();
  }
}

FailureOr<KernelObject> tfm::compileKernel(KernelOp kernel, InstructionSet isa,
                                           StringRef symbol) {
  return reportErrors(kernel, [&]() -> FailureOr<KernelObject> {
    KernelObject object;
    FailureOr<Halide::Module> module =
        createModule(kernel, isa, symbol, object.isGeneric);
    if (failed(module))
      return failure();
    Halide::Buffer<uint8_t> bytes = module->compile_to_buffer();
    object.bytes.assign(bytes.begin(), bytes.end());
    return object;
  });
}

FailureOr<std::string> tfm::compileKernelToAssembly(KernelOp kernel,
                                                    InstructionSet isa,
                                                    StringRef symbol) {
  return reportErrors(kernel, [&]() -> FailureOr<std::string> {
    bool isGeneric;
    FailureOr<Halide::Module> module =
        createModule(kernel, isa, symbol, isGeneric);
    if (failed(module))
      return failure();
    SmallString<128> path;
    if (llvm::sys::fs::createTemporaryFile("tfm-kernel", "s", path))
      return kernel.emitOpError("cannot create a temporary file");
    module->compile({{Halide::OutputFileType::assembly, path.str().str()}});
    auto text = llvm::MemoryBuffer::getFile(path);
    llvm::sys::fs::remove(path);
    if (!text)
      return kernel.emitOpError("cannot read the assembly");
    return (*text)->getBuffer().str();
  });
}
