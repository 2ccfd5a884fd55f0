//===- Resources.cpp - Tokenizers and chat templates ----------------------===//
//
// Tokenizers are checked when a model is imported and encoded when an
// executable is made, by the same code out of the same file.
//
//===----------------------------------------------------------------------===//

#include "import/Resources.h"

#include "import/TokenizerJson.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace mlir::tfm;
using llvm::Error;

static constexpr llvm::StringLiteral kTokenizer = "tokenizer";
static constexpr llvm::StringLiteral kChatTemplate = "chat_template";
static constexpr llvm::StringLiteral kTemplateKey = "tokenizer.chat_template";

static void addResource(StringRef kind, StringRef source, ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  ResourceOp::create(builder, NameLoc::get(builder.getStringAttr(kind)), kind,
                     kind, source);
}

llvm::Expected<GgufTokenizer> mlir::tfm::importResources(GgufFile &file,
                                                         ModuleOp module) {
  llvm::Expected<GgufTokenizer> tokenizer = GgufTokenizer::read(file);
  if (!tokenizer)
    return tokenizer.takeError();
  addResource(kTokenizer, file.getPath(), module);

  StringRef chatTemplate;
  if (Error error = file.getString(kTemplateKey, "").moveInto(chatTemplate))
    return error;
  if (!chatTemplate.empty())
    addResource(kChatTemplate, file.getPath(), module);
  return tokenizer;
}

Error mlir::tfm::importTokenizerJson(StringRef directory, int64_t vocabulary,
                                     ModuleOp module,
                                     std::optional<int64_t> &longest) {
  llvm::Expected<HuggingFaceTokenizer> tokenizer =
      HuggingFaceTokenizer::read(directory, vocabulary);
  if (!tokenizer)
    return tokenizer.takeError();
  if (!longest)
    longest = tokenizer->longest;
  addResource(kTokenizer, directory, module);
  return Error::success();
}

/// The tokenizer of a directory, with as many tokens as the module's model has.
static llvm::Expected<std::string> readDirectoryTokenizer(ResourceOp resource) {
  auto module = resource->getParentOfType<ModuleOp>();
  auto model = module ? module->getAttrOfType<ModelAttr>("tfm.model") : nullptr;
  if (!model)
    return llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        "expects the tokenizer of a directory in a module with tfm.model");
  llvm::Expected<HuggingFaceTokenizer> tokenizer =
      HuggingFaceTokenizer::read(resource.getSource(), model.getVocabulary());
  if (!tokenizer)
    return tokenizer.takeError();
  return tokenizer->blob.encode();
}

static llvm::Expected<std::string> readGgufResource(StringRef kind,
                                                    StringRef path) {
  llvm::Expected<GgufFile> file = GgufFile::open(path);
  if (!file)
    return file.takeError();
  if (kind == kChatTemplate) {
    StringRef text;
    if (Error error = file->getString(kTemplateKey).moveInto(text))
      return error;
    return text.str();
  }
  llvm::Expected<GgufTokenizer> tokenizer = GgufTokenizer::read(*file);
  if (!tokenizer)
    return tokenizer.takeError();
  return tokenizer->blob.encode();
}

FailureOr<std::string> mlir::tfm::readResource(ResourceOp resource) {
  StringRef kind = resource.getKind();
  if (kind != kTokenizer && kind != kChatTemplate)
    return resource.emitOpError()
           << "expects kind \"" << kTokenizer << "\" or \"" << kChatTemplate
           << "\", but got \"" << kind << "\"";
  llvm::Expected<std::string> bytes =
      kind == kTokenizer && llvm::sys::fs::is_directory(resource.getSource())
          ? readDirectoryTokenizer(resource)
          : readGgufResource(kind, resource.getSource());
  if (bytes)
    return *bytes;
  emitError(FileLineColLoc::get(resource.getSourceAttr(), 0, 0))
      << llvm::toString(bytes.takeError());
  return failure();
}
