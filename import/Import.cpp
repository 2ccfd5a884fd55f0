//===- Import.cpp - From a model file to IR -------------------------------===//
//
// What all architectures share: the module, its description, its resources,
// and the report of what was left over.
//
//===----------------------------------------------------------------------===//

#include "import/Import.h"

#include "dialect/TfmDialect.h"
#include "import/Resources.h"
#include "import/architectures/Llama.h"
#include "import/formats/Gguf.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::tfm;
using llvm::Error;

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

/// Reads a token's id, −1 if there is no such key.
static Error readToken(GgufFile &file, StringRef key, int64_t vocabulary,
                       int64_t &token) {
  if (Error error = file.getInt(key, -1).moveInto(token))
    return error;
  if (token >= -1 && token < vocabulary)
    return Error::success();
  return file.keyError(key, "expects a token below the vocabulary's size V = " +
                                Twine(vocabulary) + ", but got " +
                                Twine(token));
}

/// Adds the attribute `tfm.model`.
static Error describeModel(GgufFile &file, StringRef architecture,
                           int64_t vocabulary, ModuleOp module) {
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

  constexpr llvm::StringLiteral bosKey = "tokenizer.ggml.bos_token_id";
  int64_t bos, eos;
  if (Error error = readToken(file, bosKey, vocabulary, bos))
    return error;
  if (Error error =
          readToken(file, "tokenizer.ggml.eos_token_id", vocabulary, eos))
    return error;
  bool addBos;
  if (Error error =
          file.getBool("tokenizer.ggml.add_bos_token", false).moveInto(addBos))
    return error;
  if (addBos && bos < 0)
    return file.keyError(bosKey, "expects the token that prompts start with, "
                                 "but got no such key");

  module->setAttr("tfm.model",
                  ModelAttr::get(module.getContext(), name, architecture,
                                 context, vocabulary, bos, eos, addBos));
  return Error::success();
}

static Error importGguf(GgufFile &file, ModuleOp module) {
  StringRef architecture;
  if (Error error =
          file.getString("general.architecture").moveInto(architecture))
    return error;
  if (architecture != "llama")
    return file.keyError("general.architecture",
                         "expects \"llama\", but got " +
                             *file.describeValue("general.architecture"));
  if (Error error = checkQuantization(file))
    return error;

  int64_t vocabulary;
  if (Error error = importResources(file, module).moveInto(vocabulary))
    return error;
  if (Error error = describeModel(file, architecture, vocabulary, module))
    return error;
  return importLlama(file, vocabulary, module);
}

OwningOpRef<ModuleOp> mlir::tfm::importModel(StringRef path,
                                             MLIRContext &context) {
  context.loadDialect<TfmDialect, arith::ArithDialect, func::FuncDialect,
                      tensor::TensorDialect>();
  Location loc = FileLineColLoc::get(StringAttr::get(&context, path), 0, 0);
  llvm::Expected<GgufFile> file = GgufFile::open(path);
  if (!file) {
    emitError(loc) << llvm::toString(file.takeError());
    return nullptr;
  }

  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  if (Error error = importGguf(*file, *module)) {
    emitError(loc) << llvm::toString(std::move(error));
    return nullptr;
  }
  if (failed(verify(*module)))
    return nullptr;

  SmallVector<StringRef> unused = file->getUnusedKeys();
  if (!unused.empty())
    emitRemark(loc) << "unused keys: " << llvm::join(unused, ", ");
  return module;
}
