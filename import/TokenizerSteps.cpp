//===- TokenizerSteps.cpp - Parts of a tokenizer.json ---------------------===//
//
// See TokenizerSteps.h. What a part does is what version 0.23 of the Hugging
// Face tokenizers library does (tokenizers/src).
//
//===----------------------------------------------------------------------===//

#include "import/TokenizerSteps.h"

#include "import/TokenizerRegex.h"

using namespace mlir::tfm;
using llvm::Error;
using llvm::Expected;
using llvm::StringLiteral;
using llvm::StringRef;
using llvm::Twine;

using Part = TokenizerPart<TokenizerBlob>;

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static TextStep replace(const Twine &pattern, StringRef by,
                        uint32_t flags = 0) {
  return {TFM_STEP_REPLACE, flags, pattern.str(), by.str()};
}

static TextStep split(const Twine &pattern, uint32_t flags) {
  return {TFM_STEP_SPLIT, flags, pattern.str()};
}

/// A class of PCRE2's.
static std::string classOf(const Twine &members) {
  return ("[" + members + "]").str();
}

/// White space.
static std::string space() { return classOf(kSpaces); }

/// What ASCII takes for punctuation, and Unicode.
static constexpr char kPunctuation[] = R"([!-\/:-@\[-`{-~\p{P}])";

/// The words of "Whitespace": of Rust's \w, and of the rest but white space.
static std::string wordsOfWhitespace() {
  std::string parts = std::string(kWordParts) + R"(\x{200C}\x{200D})";
  return classOf(parts) + "+|" + classOf("^" + parts + kSpaces) + "+";
}

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

/// A field of several known values; the first one if there is none.
static Error readChoice(JsonObject &part, StringRef key,
                        llvm::ArrayRef<StringLiteral> choices,
                        uint32_t &choice) {
  JsonValue value = part.find(key);
  choice = 0;
  if (value.isNull())
    return Error::success();
  std::string names;
  for (StringLiteral name : choices) {
    if (value.json->is_string() && *value.json == name.str())
      return Error::success();
    names += (names.empty() ? "\"" : ", \"") + name.str() + "\"";
    ++choice;
  }
  return value.expects("one of " + names);
}

/// `{"String": "text"}` or `{"Regex": "pattern"}`, as a PCRE2 pattern.
static Error readPattern(JsonObject &part, std::string &pattern) {
  Expected<JsonValue> value = part.get("pattern");
  if (!value)
    return value.takeError();
  Expected<JsonObject> object = JsonObject::open(*value);
  if (!object)
    return object.takeError();
  JsonValue text = object->find("String"), regex = object->find("Regex");
  if (text.isNull() == regex.isNull())
    return value->expects("either a \"String\" or a \"Regex\"");
  Expected<std::string> string = (text.isNull() ? regex : text).getString();
  if (!string)
    return string.takeError();
  if (string->empty())
    return value->expects("a pattern");
  if (Error error = object->finish())
    return error;
  if (!text.isNull()) {
    pattern = quotePattern(*string);
    return Error::success();
  }
  if (Error error = translatePattern(*string).moveInto(pattern))
    return regex.error(llvm::toString(std::move(error)));
  return Error::success();
}

/// A field that is one character.
static Error readCharacter(JsonObject &part, StringRef key, StringRef fallback,
                           std::string &character) {
  if (Error error = part.getString(key, fallback).moveInto(character))
    return error;
  size_t characters =
      llvm::count_if(character, [](char c) { return (c & 0xC0) != 0x80; });
  if (characters == 1)
    return Error::success();
  return part.find(key).expects("one character");
}

static Error readReplace(JsonObject &part, TextStep &step) {
  std::string pattern, content;
  if (Error error = readPattern(part, pattern))
    return error;
  Expected<JsonValue> value = part.get("content");
  if (!value)
    return value.takeError();
  if (Error error = value->getString().moveInto(content))
    return error;
  step = replace(pattern, content);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Normalizers
//===----------------------------------------------------------------------===//

void mlir::tfm::appendBertNormalizer(const BertRules &rules,
                                     TokenizerBlob &blob) {
  auto &steps = blob.normalizer;
  if (rules.cleansText) {
    steps.push_back(replace(R"([\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x{9F}\p{Cf})"
                            R"(\p{Co}\x{FFFD}])",
                            ""));
    steps.push_back(replace(space(), " "));
  }
  if (rules.spacesIdeographs)
    steps.push_back(
        {TFM_STEP_REPLACE, TFM_REPLACE_AROUND,
         R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF})"
         R"(\x{2A700}-\x{2B73F}\x{2B740}-\x{2B81F}\x{2B920}-\x{2CEAF})"
         R"(\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F}])",
         " ", " "});
  if (rules.stripsAccents) {
    steps.push_back({TFM_STEP_NORMAL_FORM, TFM_NORMAL_FORM_D});
    steps.push_back(replace(R"(\p{Mn})", ""));
  }
  if (rules.lowers)
    steps.push_back({TFM_STEP_LOWERCASE});
}

static Error readBertNormalizer(JsonObject &part, TokenizerBlob &blob) {
  BertRules rules;
  if (Error error = part.getBool("clean_text", true).moveInto(rules.cleansText))
    return error;
  if (Error error = part.getBool("handle_chinese_chars", true)
                        .moveInto(rules.spacesIdeographs))
    return error;
  if (Error error = part.getBool("lowercase", true).moveInto(rules.lowers))
    return error;
  if (Error error = part.getBool("strip_accents", rules.lowers)
                        .moveInto(rules.stripsAccents))
    return error;
  appendBertNormalizer(rules, blob);
  return Error::success();
}

template <tfm_normal_form form>
static Error readNormalForm(JsonObject &, TokenizerBlob &blob) {
  blob.normalizer.push_back({TFM_STEP_NORMAL_FORM, form});
  return Error::success();
}

static Error readStrip(JsonObject &part, TokenizerBlob &blob) {
  bool left, right;
  if (Error error = part.getBool("strip_left", true).moveInto(left))
    return error;
  if (Error error = part.getBool("strip_right", true).moveInto(right))
    return error;
  if (left)
    blob.normalizer.push_back(replace(R"(\A)" + space() + "+", ""));
  // Looking back keeps a run elsewhere from being tried at each character.
  if (right)
    blob.normalizer.push_back(
        replace("(?<!" + space() + ")" + space() + R"(+\z)", ""));
  return Error::success();
}

static Error readPrepend(JsonObject &part, TokenizerBlob &blob) {
  Expected<JsonValue> value = part.get("prepend");
  if (!value)
    return value.takeError();
  std::string text;
  if (Error error = value->getString().moveInto(text))
    return error;
  blob.normalizer.push_back(replace(R"(\A(?!\z))", text));
  return Error::success();
}

static Error readNormalizers(JsonObject &part, TokenizerBlob &blob) {
  return readSequence(part, "normalizers", blob, readNormalizer);
}

static constexpr Part kNormalizers[] = {
    {"Sequence", readNormalizers},
    {"NFC", readNormalForm<TFM_NORMAL_FORM_C>},
    {"NFD", readNormalForm<TFM_NORMAL_FORM_D>},
    {"NFKC", readNormalForm<TFM_NORMAL_FORM_KC>},
    {"NFKD", readNormalForm<TFM_NORMAL_FORM_KD>},
    {"Lowercase",
     [](JsonObject &, TokenizerBlob &blob) -> Error {
       blob.normalizer.push_back({TFM_STEP_LOWERCASE});
       return Error::success();
     }},
    {"StripAccents",
     [](JsonObject &, TokenizerBlob &blob) -> Error {
       blob.normalizer.push_back(replace(R"(\p{M})", ""));
       return Error::success();
     }},
    {"Strip", readStrip},
    {"Replace",
     [](JsonObject &part, TokenizerBlob &blob) {
       return readReplace(part, blob.normalizer.emplace_back());
     }},
    {"Prepend", readPrepend},
    {"BertNormalizer", readBertNormalizer},
};

/// Fails if there are more steps than executables take.
static Error checkCount(const JsonValue &value,
                        const std::vector<TextStep> &steps) {
  if (steps.size() <= TFM_TOKENIZER_MAX_STEPS)
    return Error::success();
  return value.error("expects at most " + Twine(TFM_TOKENIZER_MAX_STEPS) +
                     " steps, but got " + Twine(steps.size()));
}

Error mlir::tfm::readNormalizer(const JsonValue &value, TokenizerBlob &blob) {
  if (value.isNull())
    return Error::success();
  if (Error error = readTokenizerPart<TokenizerBlob>(value, kNormalizers, blob))
    return error;
  return checkCount(value, blob.normalizer);
}

//===----------------------------------------------------------------------===//
// Pre-tokenizers
//===----------------------------------------------------------------------===//

void mlir::tfm::appendBertPreTokenizer(TokenizerBlob &blob) {
  blob.preTokenizer.push_back(split(space(), TFM_SPLIT_REMOVED));
  blob.preTokenizer.push_back(split(kPunctuation, TFM_SPLIT_ISOLATED));
}

/// In the order of `tfm_split_behavior`.
static constexpr StringLiteral kBehaviors[] = {"Isolated", "Removed",
                                               "MergedWithPrevious",
                                               "MergedWithNext", "Contiguous"};

static Error readByteLevel(JsonObject &part, TokenizerBlob &blob) {
  bool addsSpace, cuts;
  if (Error error = part.getBool("add_prefix_space", true).moveInto(addsSpace))
    return error;
  if (Error error = part.getBool("use_regex", true).moveInto(cuts))
    return error;
  // Offsets are not asked for.
  if (Error error = part.getBool("trim_offsets", true).takeError())
    return error;
  if (addsSpace)
    blob.preTokenizer.push_back(replace(R"(\A(?! ))", " "));
  if (cuts) {
    TextStep &step = blob.preTokenizer.emplace_back();
    step.kind = TFM_STEP_SPLIT;
    if (Error error = translatePattern(kGpt2Pattern).moveInto(step.first))
      return error;
  }
  blob.preTokenizer.push_back({TFM_STEP_SPELL_BYTES});
  return Error::success();
}

static Error readSplit(JsonObject &part, TokenizerBlob &blob) {
  std::string pattern;
  if (Error error = readPattern(part, pattern))
    return error;
  if (Error error = part.get("behavior").takeError())
    return error;
  uint32_t behavior;
  if (Error error = readChoice(part, "behavior", kBehaviors, behavior))
    return error;
  bool inverts;
  if (Error error = part.getBool("invert", false).moveInto(inverts))
    return error;
  blob.preTokenizer.push_back(
      split(pattern, behavior | (inverts ? TFM_SPLIT_INVERT : 0)));
  return Error::success();
}

static Error readPunctuation(JsonObject &part, TokenizerBlob &blob) {
  uint32_t behavior;
  if (Error error = readChoice(part, "behavior", kBehaviors, behavior))
    return error;
  blob.preTokenizer.push_back(split(kPunctuation, behavior));
  return Error::success();
}

static Error readDigits(JsonObject &part, TokenizerBlob &blob) {
  bool alone;
  if (Error error = part.getBool("individual_digits", false).moveInto(alone))
    return error;
  blob.preTokenizer.push_back(
      split(R"(\p{N})", alone ? TFM_SPLIT_ISOLATED : TFM_SPLIT_CONTIGUOUS));
  return Error::success();
}

namespace {
/// The fields of "Metaspace", pre-tokenizer and decoder.
struct Metaspace {
  std::string replacement;
  enum Scheme { Always, First, Never };
  uint32_t scheme;
  bool splits;
};
} // namespace

static Error readMetaspaceFields(JsonObject &part, Metaspace &fields) {
  if (Error error =
          readCharacter(part, "replacement", "\u2581", fields.replacement))
    return error;
  if (Error error = readChoice(part, "prepend_scheme",
                               {"always", "first", "never"}, fields.scheme))
    return error;
  if (Error error = part.getBool("split", true).moveInto(fields.splits))
    return error;
  // The field's name before there were schemes.
  JsonValue old = part.find("add_prefix_space");
  bool adds = fields.scheme != Metaspace::Never;
  if (old.isNull())
    return Error::success();
  if (Error error = old.getBool().moveInto(adds))
    return error;
  if (part.find("prepend_scheme").isNull() && !adds)
    fields.scheme = Metaspace::Never;
  if (adds != (fields.scheme != Metaspace::Never))
    return old.expects("the same as prepend_scheme says");
  return Error::success();
}

static Error readMetaspace(JsonObject &part, TokenizerBlob &blob) {
  Metaspace fields;
  if (Error error = readMetaspaceFields(part, fields))
    return error;
  std::string quoted = quotePattern(fields.replacement);
  blob.preTokenizer.push_back(replace(" ", fields.replacement));
  if (fields.scheme != Metaspace::Never)
    blob.preTokenizer.push_back(
        replace(R"(\A(?!)" + quoted + ")", fields.replacement,
                fields.scheme == Metaspace::First ? TFM_REPLACE_FIRST : 0));
  if (fields.splits)
    blob.preTokenizer.push_back(split(quoted, TFM_SPLIT_MERGED_WITH_NEXT));
  return Error::success();
}

static Error readPreTokenizers(JsonObject &part, TokenizerBlob &blob) {
  return readSequence(part, "pretokenizers", blob, readPreTokenizer);
}

static constexpr Part kPreTokenizers[] = {
    {"Sequence", readPreTokenizers},
    {"ByteLevel", readByteLevel},
    {"Split", readSplit},
    {"Digits", readDigits},
    {"Whitespace",
     [](JsonObject &, TokenizerBlob &blob) -> Error {
       blob.preTokenizer.push_back(
           split(wordsOfWhitespace(), TFM_SPLIT_REMOVED | TFM_SPLIT_INVERT));
       return Error::success();
     }},
    {"WhitespaceSplit",
     [](JsonObject &, TokenizerBlob &blob) -> Error {
       blob.preTokenizer.push_back(split(space(), TFM_SPLIT_REMOVED));
       return Error::success();
     }},
    {"Punctuation", readPunctuation},
    {"Metaspace", readMetaspace},
    {"BertPreTokenizer",
     [](JsonObject &, TokenizerBlob &blob) -> Error {
       appendBertPreTokenizer(blob);
       return Error::success();
     }},
};

Error mlir::tfm::readPreTokenizer(const JsonValue &value, TokenizerBlob &blob) {
  if (value.isNull())
    return Error::success();
  if (Error error =
          readTokenizerPart<TokenizerBlob>(value, kPreTokenizers, blob))
    return error;
  return checkCount(value, blob.preTokenizer);
}

//===----------------------------------------------------------------------===//
// Decoders
//===----------------------------------------------------------------------===//

namespace {
/// Executables decode token by token. Parts that join all tokens into one leave
/// little for the parts behind them.
struct Decoders {
  TokenizerBlob &blob;
  bool isFused = false, isTrimmed = false;
};
using DecoderPart = TokenizerPart<Decoders>;
} // namespace

/// Fails if `part` would see all tokens as one.
static Error checkNotFused(const JsonObject &part, const Decoders &decoders) {
  if (!decoders.isFused)
    return Error::success();
  return part.getValue().expects(
      "nothing but one \"Strip\" from the start behind what fuses tokens");
}

void mlir::tfm::appendWordPieceDecoder(const std::string &prefix, bool cleansUp,
                                       TokenizerBlob &blob) {
  // Each token starts with an empty prefix, so nothing goes between them.
  if (!prefix.empty())
    blob.decoder.push_back({TFM_STEP_JOIN, 0, prefix, " "});
  if (!cleansUp)
    return;
  for (auto [pattern, by] :
       {std::pair(" (?=[.?!,])", ""), std::pair(" ' ", "'"),
        std::pair(" (?=n't|'m)", ""), std::pair(" do not", " don't"),
        std::pair(" (?='s|'ve|'re)", "")})
    blob.decoder.push_back(replace(pattern, by));
}

static Error readDecoderByteLevel(JsonObject &part, Decoders &decoders) {
  if (Error error = checkNotFused(part, decoders))
    return error;
  // The pre-tokenizer's fields mean nothing here.
  for (StringRef key : {"add_prefix_space", "trim_offsets", "use_regex"})
    if (Error error = part.getBool(key, true).takeError())
      return error;
  decoders.blob.decoder.push_back({TFM_STEP_READ_BYTES});
  decoders.isFused = true;
  return Error::success();
}

static Error readDecoderWordPiece(JsonObject &part, Decoders &decoders) {
  if (Error error = checkNotFused(part, decoders))
    return error;
  std::string prefix;
  if (Error error = part.getString("prefix", "##").moveInto(prefix))
    return error;
  bool cleansUp;
  if (Error error = part.getBool("cleanup", true).moveInto(cleansUp))
    return error;
  appendWordPieceDecoder(prefix, cleansUp, decoders.blob);
  return Error::success();
}

static Error readDecoderMetaspace(JsonObject &part, Decoders &decoders) {
  if (Error error = checkNotFused(part, decoders))
    return error;
  Metaspace fields;
  if (Error error = readMetaspaceFields(part, fields))
    return error;
  std::string quoted = quotePattern(fields.replacement);
  if (fields.scheme != Metaspace::Never)
    decoders.blob.decoder.push_back(replace(quoted, "", TFM_REPLACE_FIRST));
  decoders.blob.decoder.push_back(replace(quoted, " "));
  return Error::success();
}

static Error readDecoderReplace(JsonObject &part, Decoders &decoders) {
  if (Error error = checkNotFused(part, decoders))
    return error;
  return readReplace(part, decoders.blob.decoder.emplace_back());
}

static Error readFuse(JsonObject &, Decoders &decoders) {
  decoders.isFused = true;
  return Error::success();
}

static Error readByteFallback(JsonObject &part, Decoders &decoders) {
  if (Error error = checkNotFused(part, decoders))
    return error;
  decoders.blob.decoder.push_back({TFM_STEP_READ_BYTE_TOKENS});
  return Error::success();
}

static Error readDecoderStrip(JsonObject &part, Decoders &decoders) {
  constexpr int64_t most = 1 << 15; // of a pattern's repetitions
  std::string content;
  if (Error error = readCharacter(part, "content", " ", content))
    return error;
  int64_t counts[2];
  StringRef keys[] = {"start", "stop"};
  for (int i : {0, 1}) {
    Expected<JsonValue> value = part.get(keys[i]);
    if (!value)
      return value.takeError();
    if (Error error = value->getInt(0, most).moveInto(counts[i]))
      return error;
  }
  auto [start, stop] = counts;
  auto &steps = decoders.blob.decoder;
  if (decoders.isFused) {
    if (stop != 0 || decoders.isTrimmed)
      return checkNotFused(part, decoders);
    decoders.isTrimmed = true;
    steps.push_back({TFM_STEP_TRIM, static_cast<uint32_t>(start), content});
    return Error::success();
  }
  std::string group = "(?:" + quotePattern(content) + ")";
  auto repeat = [&](int64_t count) {
    return group + "{1," + std::to_string(count) + "}";
  };
  if (start)
    steps.push_back(replace(R"(\A)" + repeat(start), ""));
  if (stop)
    steps.push_back(replace(repeat(stop) + R"(\z)", ""));
  return Error::success();
}

static Error readOneDecoder(const JsonValue &value, Decoders &decoders);

static Error readDecoders(JsonObject &part, Decoders &decoders) {
  return readSequence(part, "decoders", decoders, readOneDecoder);
}

static constexpr DecoderPart kDecoders[] = {
    {"Sequence", readDecoders},          {"ByteLevel", readDecoderByteLevel},
    {"WordPiece", readDecoderWordPiece}, {"Metaspace", readDecoderMetaspace},
    {"Replace", readDecoderReplace},     {"Fuse", readFuse},
    {"ByteFallback", readByteFallback},  {"Strip", readDecoderStrip},
};

static Error readOneDecoder(const JsonValue &value, Decoders &decoders) {
  return readTokenizerPart<Decoders>(value, kDecoders, decoders);
}

Error mlir::tfm::readDecoder(const JsonValue &value, TokenizerBlob &blob) {
  if (value.isNull()) {
    blob.decoder.push_back({TFM_STEP_JOIN, 0, "", " "});
    return Error::success();
  }
  Decoders decoders = {blob};
  if (Error error = readOneDecoder(value, decoders))
    return error;
  return checkCount(value, blob.decoder);
}
