//===- Resources.cpp - Tokenizers and chat templates ----------------------===//
//
// Tokenizers are checked when a model is imported and encoded when an
// executable is made, by the same code out of the same file.
//
//===----------------------------------------------------------------------===//

#include "import/Resources.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::tfm;
using llvm::Error;

static constexpr llvm::StringLiteral kTokenizer = "tokenizer";
static constexpr llvm::StringLiteral kChatTemplate = "chat_template";
static constexpr llvm::StringLiteral kTemplateKey = "tokenizer.chat_template";

static void addResource(StringRef kind, const GgufFile &file, ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  ResourceOp::create(builder, NameLoc::get(builder.getStringAttr(kind)), kind,
                     kind, file.getPath());
}

llvm::Expected<GgufTokenizer> mlir::tfm::importResources(GgufFile &file,
                                                         ModuleOp module) {
  llvm::Expected<GgufTokenizer> tokenizer = GgufTokenizer::read(file);
  if (!tokenizer)
    return tokenizer.takeError();
  addResource(kTokenizer, file, module);

  StringRef chatTemplate;
  if (Error error = file.getString(kTemplateKey, "").moveInto(chatTemplate))
    return error;
  if (!chatTemplate.empty())
    addResource(kChatTemplate, file, module);
  return tokenizer;
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
  return tokenizer->encode();
}

FailureOr<std::string> mlir::tfm::readResource(ResourceOp resource) {
  StringRef kind = resource.getKind();
  if (kind != kTokenizer && kind != kChatTemplate)
    return resource.emitOpError()
           << "expects kind \"" << kTokenizer << "\" or \"" << kChatTemplate
           << "\", but got \"" << kind << "\"";
  llvm::Expected<std::string> bytes =
      readGgufResource(kind, resource.getSource());
  if (bytes)
    return *bytes;
  emitError(FileLineColLoc::get(resource.getSourceAttr(), 0, 0))
      << llvm::toString(bytes.takeError());
  return failure();
}
