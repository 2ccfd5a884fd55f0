//===- GgufTokenizer.cpp - The tokenizer of a GGUF file -------------------===//

#include "import/GgufTokenizer.h"
#include "import/TokenizerRegex.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

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

/// `tokenizer.ggml.token_type`.
enum TokenType : int64_t {
  Normal = 1,      ///< made by merges
  Unknown = 2,     ///< never made from text
  Control = 3,     ///< found in text whole, decodes to nothing
  UserDefined = 4, ///< found in text whole, decodes to its string
  Unused = 5,      ///< never made from text
  Byte = 6,        ///< "<0x0A>", never made from text, decodes to it
};

namespace {
struct PreTokenizerName {
  StringLiteral name;
  /// Patterns of words, applied one after the other.
  llvm::ArrayRef<StringLiteral> patterns;
  bool composes;        ///< whether text is brought to normal form C
  bool keepsWholeWords; ///< whether a word that is a token ignores the merges
  /// Whether prompts start with the start of text where the file doesn't say:
  /// converters leave it to the name.
  bool addsBos;
};
} // namespace

// What the patterns of Llama 3 and Qwen2 have in common; `NUMBER` is a word of
// digits.
#define NEWLINE_AWARE(NUMBER)                                                  \
  R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)" NUMBER           \
  R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"

// Each with its source.
static constexpr StringLiteral kGpt2[] = {kGpt2Pattern};
// "SmolLM2", 2025; tokenizer.json of its release: each digit alone.
static constexpr StringLiteral kSmolLm[] = {R"(\p{N})", kGpt2Pattern};
// "The Llama 3 Herd of Models", 2024; tokenizer.json of its release.
static constexpr StringLiteral kLlama3[] = {NEWLINE_AWARE(R"(\p{N}{1,3})")};
// "Qwen2 Technical Report", 2024; tokenizer.json of its release.
static constexpr StringLiteral kQwen2[] = {NEWLINE_AWARE(R"(\p{N})")};
#undef NEWLINE_AWARE

/// Names that llama.cpp gave to the same pre-tokenizer stand together.
static constexpr PreTokenizerName kPreTokenizers[] = {
    {"smollm", kSmolLm, false, false, false},
    {"gpt-2", kGpt2, false, false, false},
    {"llama-bpe", kLlama3, false, true, true},
    {"llama3", kLlama3, false, true, true},
    {"llama-v3", kLlama3, false, true, true},
    {"qwen2", kQwen2, true, false, false},
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
  TokenizerBlob &blob = tokenizer.blob;
  for (StringRef pattern : found->patterns) {
    TextStep &split = blob.preTokenizer.emplace_back();
    split.kind = TFM_STEP_SPLIT;
    if (Error error = translatePattern(pattern).moveInto(split.first))
      return error;
  }
  blob.preTokenizer.push_back({TFM_STEP_SPELL_BYTES});
  if (found->composes)
    blob.normalizer.push_back({TFM_STEP_NORMAL_FORM, TFM_NORMAL_FORM_C});
  if (found->keepsWholeWords)
    blob.modelFlags |= TFM_MODEL_WHOLE_WORDS;
  return file.getBool(kAddBos, found->addsBos).moveInto(tokenizer.addBos);
}

static uint8_t getFlags(int64_t type) {
  switch (type) {
  case TokenType::Control:
    return TFM_TOKEN_ADDED | TFM_TOKEN_SPECIAL;
  case TokenType::UserDefined:
    return TFM_TOKEN_ADDED;
  default:
    return 0;
  }
}

static Error readTokens(GgufFile &file, GgufTokenizer &tokenizer) {
  std::vector<StringRef> tokens;
  if (Error error = file.getStrings(kTokens).moveInto(tokens))
    return error;
  size_t count = tokens.size();
  if (count < 1 || count > TFM_TOKENIZER_MAX_TOKENS)
    return file.keyError(kTokens, "expects 1 to " +
                                      Twine(TFM_TOKENIZER_MAX_TOKENS) +
                                      " tokens, but got " + Twine(count));
  uint64_t bytes = 0;
  for (StringRef token : tokens)
    bytes += token.size();
  if (bytes > UINT32_MAX / 2)
    return file.keyError(kTokens, "expects at most 2 GiB of tokens, but got " +
                                      Twine(bytes) + " bytes");

  std::vector<int64_t> types;
  if (Error error = file.getInts(kTypes).moveInto(types))
    return error;
  if (types.size() != count)
    return file.keyError(kTypes, "expects the types of " + Twine(count) +
                                     " tokens, but got " + Twine(types.size()));
  TokenizerBlob &blob = tokenizer.blob;
  for (auto [token, type] : llvm::zip(tokens, types)) {
    if (type < TokenType::Normal || type > TokenType::Byte)
      return file.keyError(kTypes,
                           "expects types from 1 to 6, but got " + Twine(type));
    blob.tokens.push_back(
        {token.str(), getFlags(type), type == TokenType::Normal});
  }
  if (llvm::is_contained(types, int64_t(TokenType::Byte)))
    blob.decoder.push_back({TFM_STEP_READ_BYTE_TOKENS});
  blob.decoder.push_back({TFM_STEP_READ_BYTES});
  // Merges have ranks, so scores change nothing, but must be some.
  return file.checkNeutral(kScores, std::to_string(count) + " floats");
}

static Error readMerges(GgufFile &file, GgufTokenizer &tokenizer) {
  llvm::DenseMap<StringRef, uint32_t> ids;
  for (auto [id, token] : llvm::enumerate(tokenizer.blob.tokens))
    if (auto [other, isNew] = ids.try_emplace(token.text, id); !isNew)
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
    tokenizer.blob.merges.push_back(
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
  size_t vocabulary = tokenizer.blob.tokens.size();
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
