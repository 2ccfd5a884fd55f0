//===- HostObject.cpp - Host code and descriptor to an object -------------===//

#include "codegen/llvm/HostObject.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "runtime/include/tfm_abi.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace mlir::tfm;

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

static std::optional<int32_t> elementOf(Type type) {
  if (type.isF32())
    return TFM_ELEMENT_F32;
  if (type.isF16())
    return TFM_ELEMENT_F16;
  if (type.isInteger(32))
    return TFM_ELEMENT_I32;
  if (type.isInteger(8))
    return TFM_ELEMENT_I8;
  return std::nullopt;
}

FailureOr<ModelDescription::EntryPoint>
tfm::describeEntryPoint(func::FuncOp planned) {
  ModelDescription::EntryPoint entry;
  entry.name = planned.getSymName();
  auto arena = planned->getAttrOfType<ArenaAttr>("tfm.arena");
  if (!arena)
    return planned.emitError("expects a planned function");
  entry.arenaPerRow = arena.getPerRow();
  entry.arenaPerSample = arena.getPerSample();
  entry.arenaFixed = arena.getFixed();

  // The arena is last.
  for (BlockArgument argument : planned.getArguments().drop_back()) {
    auto name = planned.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                     "tfm.name");
    ModelDescription::Argument described;
    described.name = name ? name.str() : "";
    Type element;
    if (auto cache = dyn_cast<KvCacheType>(argument.getType())) {
      described.role = TFM_ROLE_CACHE;
      element = cache.getElementType();
    } else {
      auto type = cast<MemRefType>(argument.getType());
      described.role = planned.getArgAttr(argument.getArgNumber(), "tfm.result")
                           ? TFM_ROLE_OUTPUT
                           : TFM_ROLE_INPUT;
      element = type.getElementType();
      for (auto [dim, size] : llvm::enumerate(type.getShape()))
        described.dims.push_back(!ShapedType::isDynamic(size) ? size
                                 : dim == 0                   ? TFM_DIM_BATCH
                                                              : TFM_DIM_LENGTH);
    }
    std::optional<int32_t> known = elementOf(element);
    if (!known)
      return planned.emitError(
                 "expects f32, f16, i32 or i8 arguments, but got ")
             << argument.getType();
    described.element = *known;
    entry.arguments.push_back(described);
  }
  return entry;
}

//===----------------------------------------------------------------------===//
// The descriptor
//===----------------------------------------------------------------------===//

namespace {
/// Writes the structs of tfm_abi.h as constants. LLVM lays anonymous structs
/// out as C does.
class DescriptorWriter {
public:
  explicit DescriptorWriter(llvm::Module &module)
      : module(module), context(module.getContext()),
        ptr(llvm::PointerType::getUnqual(context)) {}

  void write(const ModelDescription &description);

private:
  using Constants = SmallVector<llvm::Constant *>;

  llvm::Constant *i32(int64_t value) {
    return llvm::ConstantInt::getSigned(llvm::Type::getInt32Ty(context),
                                        static_cast<int32_t>(value));
  }
  llvm::Constant *i64(int64_t value) {
    return llvm::ConstantInt::getSigned(llvm::Type::getInt64Ty(context), value);
  }
  llvm::Constant *global(llvm::Constant *value) {
    return new llvm::GlobalVariable(module, value->getType(),
                                    /*isConstant=*/true,
                                    llvm::GlobalValue::PrivateLinkage, value);
  }
  llvm::Constant *bytes(StringRef text, bool isTerminated) {
    llvm::Constant *result =
        global(llvm::ConstantDataArray::getString(context, text, isTerminated));
    cast<llvm::GlobalVariable>(result)->setAlignment(llvm::Align(16));
    return result;
  }
  llvm::Constant *text(StringRef text) { return bytes(text, true); }
  llvm::Constant *object(ArrayRef<llvm::Constant *> fields) {
    return llvm::ConstantStruct::getAnon(context, fields);
  }
  llvm::Constant *array(ArrayRef<llvm::Constant *> elements) {
    if (elements.empty())
      return llvm::ConstantPointerNull::get(ptr);
    auto *type =
        llvm::ArrayType::get(elements.front()->getType(), elements.size());
    return global(llvm::ConstantArray::get(type, elements));
  }

  llvm::Constant *write(const ModelDescription::EntryPoint &entry);
  llvm::Constant *write(const ModelDescription::Target &target);

  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::PointerType *ptr;
};
} // namespace

llvm::Constant *
DescriptorWriter::write(const ModelDescription::EntryPoint &entry) {
  Constants arguments;
  for (const ModelDescription::Argument &argument : entry.arguments) {
    Constants dims;
    for (int64_t dim : argument.dims)
      dims.push_back(i64(dim));
    arguments.push_back(
        object({text(argument.name), i32(argument.role), i32(argument.element),
                i32(dims.size()), array(dims)}));
  }
  return object({text(entry.name), module.getFunction(entry.name),
                 i32(arguments.size()), array(arguments),
                 i64(entry.arenaPerRow), i64(entry.arenaPerSample),
                 i64(entry.arenaFixed)});
}

llvm::Constant *
DescriptorWriter::write(const ModelDescription::Target &target) {
  Constants kernels;
  for (const std::string &symbol : target.kernels)
    kernels.push_back(cast<llvm::Constant>(
        module
            .getOrInsertFunction(
                symbol, llvm::FunctionType::get(llvm::Type::getInt32Ty(context),
                                                /*isVarArg=*/true))
            .getCallee()));
  return object({text(target.name), i32(target.features), array(kernels)});
}

void DescriptorWriter::write(const ModelDescription &description) {
  Constants entryPoints, targets, resources;
  for (const ModelDescription::EntryPoint &entry : description.entryPoints)
    entryPoints.push_back(write(entry));
  for (const ModelDescription::Target &target : description.targets)
    targets.push_back(write(target));
  for (const ModelDescription::Resource &resource : description.resources)
    resources.push_back(
        object({text(resource.kind), bytes(resource.bytes, false),
                i64(resource.bytes.size())}));

  KvCacheType cache = description.cache;
  llvm::Constant *shape =
      cache ? object({i32(cache.getLayers()), i32(cache.getHeads()),
                      i32(cache.getKeySize()), i32(cache.getValueSize()),
                      i32(*elementOf(cache.getElementType()))})
            : object(Constants(5, i32(0)));
  ModelAttr model = description.model;
  llvm::Constant *descriptor = object(
      {i32(TFM_ABI_VERSION), i32(model.getContextLength()),
       i32(model.getVocabulary()), i32(model.getBos()), i32(model.getAddBos()),
       i32(model.getEos()), text(model.getName()),
       text(model.getArchitecture()), text(description.compiler),
       text(description.summary), shape, i64(description.weightBytes),
       text(kWeightSection), i32(entryPoints.size()), i32(targets.size()),
       i32(resources.size()), array(entryPoints), array(targets),
       array(resources)});
  new llvm::GlobalVariable(module, descriptor->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, descriptor,
                           "tfm_model_descriptor");
}

//===----------------------------------------------------------------------===//
// The object
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<char, 0>>
tfm::compileHost(ModuleOp module, const ModelDescription &description) {
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> host =
      translateModuleToLLVMIR(module, context, "host");
  if (!host)
    return failure();

  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string reason;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, reason);
  if (!target)
    return module.emitError("no code generator for ") << triple.str();
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, "x86-64", "", llvm::TargetOptions(), llvm::Reloc::PIC_));
  host->setTargetTriple(triple);
  host->setDataLayout(machine->createDataLayout());
  DescriptorWriter(*host).write(description);

  SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream os(bytes);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, os, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return module.emitError("cannot write objects for ") << triple.str();
  passes.run(*host);
  return bytes;
}
