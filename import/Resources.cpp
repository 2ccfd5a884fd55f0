//===- Resources.cpp - Tokenizers and chat templates ----------------------===//
//
// Tokenizers are checked when a model is imported and encoded when an
// executable is made, by the same code out of the same file.
//
//===----------------------------------------------------------------------===//

#include "import/Resources.h"

#include "mlir/IR/Builders.h"
#include "runtime/include/tfm_tokenizer_format.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/EndianStream.h"

using namespace mlir;
using namespace mlir::tfm;
using llvm::Error;

static constexpr llvm::StringLiteral kTokenizer = "tokenizer";
static constexpr llvm::StringLiteral kChatTemplate = "chat_template";
static constexpr llvm::StringLiteral kTemplateKey = "tokenizer.chat_template";

namespace {
/// A byte-level BPE tokenizer, see tfm_tokenizer_format.h. Strings belong to
/// the file.
struct Tokenizer {
  std::vector<StringRef> tokens;
  std::vector<int64_t> types;
  std::vector<tfm_merge> merges;
};
} // namespace

static Error checkKind(GgufFile &file) {
  for (auto [key, supported] : {std::pair("tokenizer.ggml.model", "gpt2"),
                                std::pair("tokenizer.ggml.pre", "smollm")}) {
    StringRef kind;
    if (Error error = file.getString(key).moveInto(kind))
      return error;
    if (kind != supported)
      return file.keyError(key, "expects \"" + Twine(supported) +
                                    "\", but got " + *file.describeValue(key));
  }
  constexpr llvm::StringLiteral addEos = "tokenizer.ggml.add_eos_token";
  bool value;
  if (Error error = file.getBool(addEos, false).moveInto(value))
    return error;
  if (value)
    return file.keyError(addEos, "expects false, since nothing else is "
                                 "supported, but got true");
  return Error::success();
}

static Error readTokens(GgufFile &file, Tokenizer &tokenizer) {
  constexpr llvm::StringLiteral tokensKey = "tokenizer.ggml.tokens";
  if (Error error = file.getStrings(tokensKey).moveInto(tokenizer.tokens))
    return error;
  size_t count = tokenizer.tokens.size();
  if (count < 1 || count > TFM_TOKENIZER_MAX_TOKENS)
    return file.keyError(tokensKey, "expects 1 to " +
                                        Twine(TFM_TOKENIZER_MAX_TOKENS) +
                                        " tokens, but got " + Twine(count));
  uint64_t bytes = 0;
  for (StringRef token : tokenizer.tokens)
    bytes += token.size();
  if (bytes > UINT32_MAX)
    return file.keyError(tokensKey,
                         "expects at most 4 GiB of tokens, but got " +
                             Twine(bytes) + " bytes");

  constexpr llvm::StringLiteral typesKey = "tokenizer.ggml.token_type";
  if (Error error = file.getInts(typesKey).moveInto(tokenizer.types))
    return error;
  if (tokenizer.types.size() != count)
    return file.keyError(typesKey, "expects the types of " + Twine(count) +
                                       " tokens, but got " +
                                       Twine(tokenizer.types.size()));
  for (int64_t type : tokenizer.types)
    if (type < TFM_TOKEN_NORMAL || type > TFM_TOKEN_BYTE)
      return file.keyError(typesKey,
                           "expects types from 1 to 6, but got " + Twine(type));
  return Error::success();
}

static Error readMerges(GgufFile &file, Tokenizer &tokenizer) {
  llvm::DenseMap<StringRef, uint32_t> ids;
  for (auto [id, token] : llvm::enumerate(tokenizer.tokens))
    if (auto [other, isNew] = ids.try_emplace(token, id); !isNew)
      return file.keyError("tokenizer.ggml.tokens",
                           "expects tokens that differ, but got the same as " +
                               Twine(other->second) + " and " + Twine(id));

  constexpr llvm::StringLiteral key = "tokenizer.ggml.merges";
  std::vector<StringRef> merges;
  if (Error error = file.getStrings(key).moveInto(merges))
    return error;
  if (merges.size() > TFM_TOKENIZER_MAX_MERGES)
    return file.keyError(key, "expects at most " +
                                  Twine(TFM_TOKENIZER_MAX_MERGES) +
                                  " merges, but got " + Twine(merges.size()));
  for (auto [rank, merge] : llvm::enumerate(merges)) {
    // Only a left token may have a space, as its first character.
    StringRef left = merge.take_front(merge.find(' ', 1));
    StringRef right = merge.substr(left.size() + 1);
    auto leftId = ids.find(left), rightId = ids.find(right);
    auto resultId = ids.find((left + right).str());
    if (llvm::is_contained({leftId, rightId, resultId}, ids.end()))
      return file.keyError(key,
                           "expects two tokens that make a third as merge " +
                               Twine(rank) + ", but got " + quote(merge));
    tokenizer.merges.push_back(
        {leftId->second, rightId->second, resultId->second});
  }
  return Error::success();
}

static llvm::Expected<Tokenizer> readTokenizer(GgufFile &file) {
  Tokenizer tokenizer;
  if (Error error = checkKind(file))
    return error;
  if (Error error = readTokens(file, tokenizer))
    return error;
  if (Error error = readMerges(file, tokenizer))
    return error;
  return tokenizer;
}

static std::string encode(const Tokenizer &tokenizer) {
  std::vector<uint32_t> offsets = {0};
  for (StringRef token : tokenizer.tokens)
    offsets.push_back(offsets.back() + token.size());

  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  llvm::support::endian::Writer writer(os, llvm::endianness::little);
  writer.write<uint64_t>(TFM_TOKENIZER_MAGIC);
  for (uint32_t field :
       {uint32_t(TFM_TOKENIZER_VERSION), uint32_t(TFM_PRE_TOKENIZER_SMOLLM),
        uint32_t(tokenizer.tokens.size()), uint32_t(tokenizer.merges.size()),
        offsets.back(), uint32_t(0)})
    writer.write(field);
  for (uint32_t offset : offsets)
    writer.write(offset);
  for (const tfm_merge &merge : tokenizer.merges)
    for (uint32_t id : {merge.left, merge.right, merge.result})
      writer.write(id);
  for (int64_t type : tokenizer.types)
    writer.write<uint8_t>(type);
  for (StringRef token : tokenizer.tokens)
    os << token;
  return bytes;
}

static void addResource(StringRef kind, const GgufFile &file, ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  ResourceOp::create(builder, NameLoc::get(builder.getStringAttr(kind)), kind,
                     kind, file.getPath());
}

llvm::Expected<int64_t> mlir::tfm::importResources(GgufFile &file,
                                                   ModuleOp module) {
  llvm::Expected<Tokenizer> tokenizer = readTokenizer(file);
  if (!tokenizer)
    return tokenizer.takeError();
  addResource(kTokenizer, file, module);

  StringRef chatTemplate;
  if (Error error = file.getString(kTemplateKey, "").moveInto(chatTemplate))
    return error;
  if (!chatTemplate.empty())
    addResource(kChatTemplate, file, module);
  return tokenizer->tokens.size();
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
  llvm::Expected<Tokenizer> tokenizer = readTokenizer(*file);
  if (!tokenizer)
    return tokenizer.takeError();
  return encode(*tokenizer);
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
