//===- GgufTokenizer.cpp - The tokenizer of a GGUF file -------------------===//

#include "import/GgufTokenizer.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/EndianStream.h"

using namespace mlir::tfm;
using llvm::Error;
using llvm::StringLiteral;
using llvm::StringRef;
using llvm::Twine;

static constexpr StringLiteral kPrefix = "tokenizer.ggml.";
static constexpr StringLiteral kTokens = "tokenizer.ggml.tokens";
static constexpr StringLiteral kTypes = "tokenizer.ggml.token_type";
static constexpr StringLiteral kScores = "tokenizer.ggml.scores";
static constexpr StringLiteral kMerges = "tokenizer.ggml.merges";
static constexpr StringLiteral kPre = "tokenizer.ggml.pre";
static constexpr StringLiteral kBos = "tokenizer.ggml.bos_token_id";
static constexpr StringLiteral kEos = "tokenizer.ggml.eos_token_id";
static constexpr StringLiteral kAddBos = "tokenizer.ggml.add_bos_token";

namespace {
struct PreTokenizerName {
  StringLiteral name;
  tfm_pre_tokenizer kind;
  /// Whether prompts start with the start of text where the file doesn't say:
  /// converters leave it to the name.
  bool addsBos;
};
} // namespace

/// Names that llama.cpp gave to the same pre-tokenizer stand together.
static constexpr PreTokenizerName kPreTokenizers[] = {
    {"smollm", TFM_PRE_TOKENIZER_SMOLLM, false},
    {"gpt-2", TFM_PRE_TOKENIZER_GPT2, false},
    {"llama-bpe", TFM_PRE_TOKENIZER_LLAMA_BPE, true},
    {"llama3", TFM_PRE_TOKENIZER_LLAMA_BPE, true},
    {"llama-v3", TFM_PRE_TOKENIZER_LLAMA_BPE, true},
    {"qwen2", TFM_PRE_TOKENIZER_QWEN2, false},
};

/// Keys that change a text's tokens, and the one value that leaves them alone.
static constexpr std::pair<StringLiteral, StringLiteral> kNeutral[] = {
    {"tokenizer.ggml.model", "\"gpt2\""},
    {"tokenizer.ggml.add_eos_token", "false"},
    {"tokenizer.ggml.add_sep_token", "false"},
    {"tokenizer.ggml.add_space_prefix", "false"},
    {"tokenizer.ggml.remove_extra_whitespaces", "false"},
    {"tokenizer.ggml.precompiled_charsmap", "0 integers"},
};

/// Tokens that byte-level BPE has no use for: every byte is known, and prompts
/// are neither padded nor joined. The misspelling is GGUF's.
static constexpr StringLiteral kUnusedIds[] = {
    "tokenizer.ggml.unknown_token_id", "tokenizer.ggml.padding_token_id",
    "tokenizer.ggml.seperator_token_id", "tokenizer.ggml.mask_token_id"};

static Error readPreTokenizer(GgufFile &file, GgufTokenizer &tokenizer) {
  StringRef name;
  if (Error error = file.getString(kPre).moveInto(name))
    return error;
  const auto *found = llvm::find_if(
      kPreTokenizers, [&](const auto &known) { return known.name == name; });
  if (found == std::end(kPreTokenizers)) {
    std::string names;
    for (const PreTokenizerName &known : kPreTokenizers)
      names += (names.empty() ? "\"" : ", \"") + known.name.str() + "\"";
    return file.keyError(kPre, "expects one of " + names + ", but got " +
                                   *file.describeValue(kPre));
  }
  tokenizer.preTokenizer = found->kind;
  return file.getBool(kAddBos, found->addsBos).moveInto(tokenizer.addBos);
}

static Error readTokens(GgufFile &file, GgufTokenizer &tokenizer) {
  if (Error error = file.getStrings(kTokens).moveInto(tokenizer.tokens))
    return error;
  size_t count = tokenizer.tokens.size();
  if (count < 1 || count > TFM_TOKENIZER_MAX_TOKENS)
    return file.keyError(kTokens, "expects 1 to " +
                                      Twine(TFM_TOKENIZER_MAX_TOKENS) +
                                      " tokens, but got " + Twine(count));
  uint64_t bytes = 0;
  for (StringRef token : tokenizer.tokens)
    bytes += token.size();
  if (bytes > UINT32_MAX)
    return file.keyError(kTokens, "expects at most 4 GiB of tokens, but got " +
                                      Twine(bytes) + " bytes");

  if (Error error = file.getInts(kTypes).moveInto(tokenizer.types))
    return error;
  if (tokenizer.types.size() != count)
    return file.keyError(kTypes, "expects the types of " + Twine(count) +
                                     " tokens, but got " +
                                     Twine(tokenizer.types.size()));
  for (int64_t type : tokenizer.types)
    if (type < TFM_TOKEN_NORMAL || type > TFM_TOKEN_BYTE)
      return file.keyError(kTypes,
                           "expects types from 1 to 6, but got " + Twine(type));
  // Merges have ranks, so scores change nothing, but must be some.
  return file.checkNeutral(kScores, std::to_string(count) + " floats");
}

static Error readMerges(GgufFile &file, GgufTokenizer &tokenizer) {
  llvm::DenseMap<StringRef, uint32_t> ids;
  for (auto [id, token] : llvm::enumerate(tokenizer.tokens))
    if (auto [other, isNew] = ids.try_emplace(token, id); !isNew)
      return file.keyError(kTokens,
                           "expects tokens that differ, but got the same as " +
                               Twine(other->second) + " and " + Twine(id));

  std::vector<StringRef> merges;
  if (Error error = file.getStrings(kMerges).moveInto(merges))
    return error;
  if (merges.size() > TFM_TOKENIZER_MAX_MERGES)
    return file.keyError(kMerges,
                         "expects at most " + Twine(TFM_TOKENIZER_MAX_MERGES) +
                             " merges, but got " + Twine(merges.size()));
  for (auto [rank, merge] : llvm::enumerate(merges)) {
    // Only a left token may have a space, as its first character.
    StringRef left = merge.take_front(merge.find(' ', 1));
    StringRef right = merge.substr(left.size() + 1);
    auto leftId = ids.find(left), rightId = ids.find(right);
    auto resultId = ids.find((left + right).str());
    if (llvm::is_contained({leftId, rightId, resultId}, ids.end()))
      return file.keyError(kMerges,
                           "expects two tokens that make a third as merge " +
                               Twine(rank) + ", but got " + quote(merge));
    tokenizer.merges.push_back(
        {leftId->second, rightId->second, resultId->second});
  }
  return Error::success();
}

/// Reads a token's id, −1 if there is no such key.
static Error readId(GgufFile &file, StringRef key, size_t vocabulary,
                    int64_t &id) {
  if (Error error = file.getInt(key, -1).moveInto(id))
    return error;
  if (id >= -1 && id < static_cast<int64_t>(vocabulary))
    return Error::success();
  return file.keyError(key, "expects a token below the vocabulary's size V = " +
                                Twine(vocabulary) + ", but got " + Twine(id));
}

static Error readIds(GgufFile &file, GgufTokenizer &tokenizer) {
  size_t vocabulary = tokenizer.tokens.size();
  if (Error error = readId(file, kBos, vocabulary, tokenizer.bos))
    return error;
  if (Error error = readId(file, kEos, vocabulary, tokenizer.eos))
    return error;
  int64_t unused;
  for (StringRef key : kUnusedIds)
    if (Error error = readId(file, key, vocabulary, unused))
      return error;
  if (tokenizer.addBos && tokenizer.bos < 0)
    return file.keyError(kBos, "expects the token that prompts start with, "
                               "but got no such key");
  return Error::success();
}

/// Refuses keys that may change a text's tokens in ways that nobody here knows.
/// Names of tokens don't: they are for whoever writes or reads the text.
static Error checkRest(GgufFile &file) {
  for (StringRef key : file.getUnusedKeys())
    if (key.starts_with(kPrefix) && !key.ends_with("_token_id"))
      return file.unknownKeyError(key);
  return Error::success();
}

llvm::Expected<GgufTokenizer> GgufTokenizer::read(GgufFile &file) {
  GgufTokenizer tokenizer;
  if (Error error = file.getString("tokenizer.ggml.model").takeError())
    return std::move(error);
  for (auto [key, neutral] : kNeutral)
    if (Error error = file.checkNeutral(key, neutral))
      return std::move(error);
  for (auto *readPart : {readPreTokenizer, readTokens, readMerges, readIds})
    if (Error error = readPart(file, tokenizer))
      return std::move(error);
  if (Error error = checkRest(file))
    return std::move(error);
  return tokenizer;
}

std::string GgufTokenizer::encode() const {
  std::vector<uint32_t> offsets = {0};
  for (StringRef token : tokens)
    offsets.push_back(offsets.back() + token.size());

  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  llvm::support::endian::Writer writer(os, llvm::endianness::little);
  writer.write<uint64_t>(TFM_TOKENIZER_MAGIC);
  for (uint32_t field : {uint32_t(TFM_TOKENIZER_VERSION),
                         uint32_t(preTokenizer), uint32_t(tokens.size()),
                         uint32_t(merges.size()), offsets.back(), uint32_t(0)})
    writer.write(field);
  for (uint32_t offset : offsets)
    writer.write(offset);
  for (const tfm_merge &merge : merges)
    for (uint32_t id : {merge.left, merge.right, merge.result})
      writer.write(id);
  for (int64_t type : types)
    writer.write<uint8_t>(type);
  for (StringRef token : tokens)
    os << token;
  return bytes;
}
