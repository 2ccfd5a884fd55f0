//===- Import.cpp - From a model file to IR -------------------------------===//
//
// What all architectures share: the module, its description, its resources,
// and the report of what was left over.
//
//===----------------------------------------------------------------------===//

#include "import/Import.h"

#include "dialect/TfmDialect.h"
#include "import/HuggingFace.h"
#include "import/Resources.h"
#include "import/architectures/Llama.h"
#include "import/formats/Gguf.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::tfm;
using llvm::Error;

/// A file may hold something beside a model, or a part of one.
static Error checkWhole(GgufFile &file) {
  if (Error error = file.checkNeutral("general.type", "\"model\""))
    return error;
  constexpr llvm::StringLiteral key = "split.count";
  int64_t parts;
  if (Error error = file.getInt(key, 1).moveInto(parts))
    return error;
  if (parts <= 1)
    return Error::success();
  return file.keyError(key, "expects a model in one file, but got one in " +
                                Twine(parts));
}

/// Block-quantized elements are laid out as `BlockType` says since version 2.
static Error checkQuantization(GgufFile &file) {
  constexpr llvm::StringLiteral key = "general.quantization_version";
  int64_t version;
  if (Error error = file.getInt(key, 2).moveInto(version))
    return error;
  if (version == 2)
    return Error::success();
  return file.keyError(key, "expects 2, but got " + Twine(version));
}

/// Adds the attribute `tfm.model`.
static Error describeModel(GgufFile &file, StringRef architecture,
                           const GgufTokenizer &tokenizer, ModuleOp module) {
  StringRef name;
  if (Error error =
          file.getString("general.name", llvm::sys::path::stem(file.getPath()))
              .moveInto(name))
    return error;

  std::string contextKey = (architecture + ".context_length").str();
  int64_t context;
  if (Error error = file.getInt(contextKey).moveInto(context))
    return error;
  if (context < 1 || context > INT32_MAX)
    return file.keyError(contextKey, "expects a length from 1 to " +
                                         Twine(INT32_MAX) + ", but got " +
                                         Twine(context));

  module->setAttr("tfm.model",
                  ModelAttr::get(module.getContext(), name, architecture,
                                 context, tokenizer.blob.tokens.size(),
                                 tokenizer.bos, tokenizer.eos,
                                 tokenizer.addBos));
  return Error::success();
}

static Error importGguf(StringRef path, ModuleOp module) {
  llvm::Expected<GgufFile> opened = GgufFile::open(path);
  if (!opened)
    return opened.takeError();
  GgufFile &file = *opened;
  StringRef architecture;
  if (Error error =
          file.getString("general.architecture").moveInto(architecture))
    return error;
  if (architecture != "llama")
    return file.keyError("general.architecture",
                         "expects \"llama\", but got " +
                             *file.describeValue("general.architecture"));
  if (Error error = checkWhole(file))
    return error;
  if (Error error = checkQuantization(file))
    return error;

  llvm::Expected<GgufTokenizer> tokenizer = importResources(file, module);
  if (!tokenizer)
    return tokenizer.takeError();
  if (Error error = describeModel(file, architecture, *tokenizer, module))
    return error;
  if (Error error = importLlama(file, tokenizer->blob.tokens.size(), module))
    return error;

  SmallVector<StringRef> unused = file.getUnusedKeys();
  if (!unused.empty())
    emitRemark(module.getLoc()) << "unused keys: " << llvm::join(unused, ", ");
  return Error::success();
}

OwningOpRef<ModuleOp> mlir::tfm::importModel(StringRef path,
                                             MLIRContext &context) {
  context.loadDialect<TfmDialect, arith::ArithDialect, func::FuncDialect,
                      tensor::TensorDialect>();
  Location loc = FileLineColLoc::get(StringAttr::get(&context, path), 0, 0);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  Error error = llvm::sys::fs::is_directory(path)
                    ? importHuggingFace(path, *module)
                    : importGguf(path, *module);
  if (error) {
    emitError(loc) << llvm::toString(std::move(error));
    return nullptr;
  }
  if (failed(verify(*module)))
    return nullptr;
  return module;
}
