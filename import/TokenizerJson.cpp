//===- TokenizerJson.cpp - Tokenizers of Hugging Face ---------------------===//
//
// See TokenizerJson.h. What a field means is what version 0.23 of the Hugging
// Face tokenizers library takes it for.
//
//===----------------------------------------------------------------------===//

#include "import/TokenizerJson.h"

#include "import/TokenizerSteps.h"
#include "import/TokenizerVocabulary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir::tfm;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

static constexpr char kTokenizerName[] = "tokenizer.json";
static constexpr char kVocabularyName[] = "vocab.txt";
static constexpr char kConfigName[] = "tokenizer_config.json";

/// The largest tokenizer.json published has some 35 MB.
static constexpr uint64_t kMostBytes = uint64_t(256) << 20;

namespace {

/// Fills a blob from the parts of a file.
class Builder {
public:
  Builder(HuggingFaceTokenizer &tokenizer, int64_t size)
      : tokenizer(tokenizer), blob(tokenizer.blob), vocabulary(blob, size) {}

  Error readFile(const JsonValue &value);
  Error readVocabularyText(StringRef text);
  Error readConfig(const JsonValue &value);

private:
  Error readAddedTokens(const JsonValue &value);
  Error readTruncation(const JsonValue &value);
  Error readPostProcessor(const JsonValue &value);
  Error readTemplate(JsonObject &part);
  Error readTemplatePiece(const JsonValue &value, JsonObject &specials,
                          bool &isBehindText);
  Error readSpecialToken(const JsonValue &value, JsonObject &specials,
                         std::vector<uint32_t> &ids);
  Error readNamedToken(JsonObject &config, StringRef key, StringRef standard,
                       uint32_t &id);
  template <bool hasOffsets> Error readPair(JsonObject &part);
  void surround(std::vector<uint32_t> prefix, std::vector<uint32_t> suffix);

  HuggingFaceTokenizer &tokenizer;
  TokenizerBlob &blob;
  TokenizerVocabulary vocabulary;
};

} // namespace

/// A field that has to be there, as an object's value.
static Error require(JsonObject &object, StringRef key, JsonValue &value) {
  Expected<JsonValue> found = object.get(key);
  if (!found)
    return found.takeError();
  value = *found;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Added tokens
//===----------------------------------------------------------------------===//

Error Builder::readAddedTokens(const JsonValue &value) {
  if (value.isNull())
    return Error::success();
  auto list = value.getElements();
  if (!list)
    return list.takeError();
  static constexpr struct {
    llvm::StringLiteral key;
    tfm_token_flag flag;
  } kinds[] = {{"special", TFM_TOKEN_SPECIAL},
               {"normalized", TFM_TOKEN_NORMALIZED},
               {"lstrip", TFM_TOKEN_LSTRIP},
               {"rstrip", TFM_TOKEN_RSTRIP},
               {"single_word", TFM_TOKEN_SINGLE_WORD}};
  for (const JsonValue &element : *list) {
    Expected<JsonObject> object = JsonObject::open(element);
    if (!object)
      return object.takeError();
    JsonValue idValue, content;
    if (Error error = require(*object, "id", idValue))
      return error;
    if (Error error = require(*object, "content", content))
      return error;
    uint32_t id;
    if (Error error = vocabulary.readId(idValue).moveInto(id))
      return error;
    std::string text;
    if (Error error = content.getString().moveInto(text))
      return error;
    uint8_t flags = TFM_TOKEN_ADDED;
    for (auto [key, flag] : kinds) {
      JsonValue field;
      if (Error error = require(*object, key, field))
        return error;
      bool isSet;
      if (Error error = field.getBool().moveInto(isSet))
        return error;
      if (isSet)
        flags |= flag;
    }
    if (Error error = object->finish())
      return error;

    if (Error error = vocabulary.addToken(element, text, id, flags))
      return error;
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// What goes around a text
//===----------------------------------------------------------------------===//

/// A part that comes after others puts its tokens around theirs.
void Builder::surround(std::vector<uint32_t> prefix,
                       std::vector<uint32_t> suffix) {
  prefix.insert(prefix.end(), blob.prefix.begin(), blob.prefix.end());
  blob.prefix = std::move(prefix);
  blob.suffix.insert(blob.suffix.end(), suffix.begin(), suffix.end());
}

/// Reads `["[SEP]", 102]` and the like. `hasOffsets`: "RobertaProcessing" has
/// two fields that change offsets only.
template <bool hasOffsets> Error Builder::readPair(JsonObject &part) {
  uint32_t tokens[2];
  StringRef keys[] = {"cls", "sep"};
  for (int i : {0, 1}) {
    JsonValue value;
    if (Error error = require(part, keys[i], value))
      return error;
    auto pair = value.getElements();
    if (!pair)
      return pair.takeError();
    if (pair->size() != 2)
      return value.expects("a token and its id");
    if (Error error = (*pair)[0].getString().takeError())
      return error;
    if (Error error = vocabulary.readId((*pair)[1]).moveInto(tokens[i]))
      return error;
  }
  if (hasOffsets)
    for (StringRef key : {"trim_offsets", "add_prefix_space"})
      if (Error error = part.getBool(key, true).takeError())
        return error;
  surround({tokens[0]}, {tokens[1]});
  return Error::success();
}

/// Appends the ids of a special token of a template.
Error Builder::readSpecialToken(const JsonValue &value, JsonObject &specials,
                                std::vector<uint32_t> &ids) {
  std::string name;
  if (Error error = value.getString().moveInto(name))
    return error;
  JsonValue entry = specials.find(name);
  if (entry.isNull())
    return value.expects("one of the template's special_tokens");
  Expected<JsonObject> token = JsonObject::open(entry);
  if (!token)
    return token.takeError();
  JsonValue list;
  if (Error error = require(*token, "ids", list))
    return error;
  auto elements = list.getElements();
  if (!elements)
    return elements.takeError();
  for (const JsonValue &element : *elements)
    if (Error error = vocabulary.readId(element).moveInto(ids.emplace_back()))
      return error;
  // The same again, as text.
  token->find("id");
  token->find("tokens");
  return token->finish();
}

Error Builder::readTemplatePiece(const JsonValue &value, JsonObject &specials,
                                 bool &isBehindText) {
  Expected<JsonObject> piece = JsonObject::open(value);
  if (!piece)
    return piece.takeError();
  JsonValue special = piece->find("SpecialToken");
  JsonValue sequence = piece->find("Sequence");
  if (Error error = piece->finish())
    return error;
  if (special.isNull() == sequence.isNull())
    return value.expects("either a SpecialToken or a Sequence");
  Expected<JsonObject> content =
      JsonObject::open(special.isNull() ? sequence : special);
  if (!content)
    return content.takeError();
  JsonValue id, type;
  if (Error error = require(*content, "id", id))
    return error;
  if (Error error = require(*content, "type_id", type))
    return error;
  if (*type.json != 0)
    return type.expects("0, since a text has one type only");
  if (Error error = content->finish())
    return error;
  if (!special.isNull())
    return readSpecialToken(id, specials,
                            isBehindText ? blob.suffix : blob.prefix);
  if (!id.json->is_string() || *id.json != "A" || isBehindText)
    return id.expects("\"A\", once");
  isBehindText = true;
  return Error::success();
}

Error Builder::readTemplate(JsonObject &part) {
  JsonValue single, names;
  if (Error error = require(part, "single", single))
    return error;
  if (Error error = require(part, "special_tokens", names))
    return error;
  part.find("pair"); // texts come one by one
  auto pieces = single.getElements();
  if (!pieces)
    return pieces.takeError();
  Expected<JsonObject> specials = JsonObject::open(names);
  if (!specials)
    return specials.takeError();

  std::vector<uint32_t> innerPrefix, innerSuffix;
  innerPrefix.swap(blob.prefix);
  innerSuffix.swap(blob.suffix);
  bool isBehindText = false;
  for (const JsonValue &piece : *pieces)
    if (Error error = readTemplatePiece(piece, *specials, isBehindText))
      return error;
  if (!isBehindText)
    return single.expects("a template with the text, \"A\"");
  innerPrefix.swap(blob.prefix);
  innerSuffix.swap(blob.suffix);
  surround(std::move(innerPrefix), std::move(innerSuffix));
  return Error::success();
}

Error Builder::readPostProcessor(const JsonValue &value) {
  static constexpr TokenizerPart<Builder> parts[] = {
      {"Sequence",
       [](JsonObject &part, Builder &self) {
         return readSequence(part, "processors", self,
                             [](const JsonValue &element, Builder &self) {
                               return self.readPostProcessor(element);
                             });
       }},
      {"TemplateProcessing",
       [](JsonObject &part, Builder &self) { return self.readTemplate(part); }},
      {"BertProcessing",
       [](JsonObject &part, Builder &self) {
         return self.readPair</*hasOffsets=*/false>(part);
       }},
      {"RobertaProcessing",
       [](JsonObject &part, Builder &self) {
         return self.readPair</*hasOffsets=*/true>(part);
       }},
      // Changes offsets only.
      {"ByteLevel",
       [](JsonObject &part, Builder &) {
         Error error = Error::success();
         for (StringRef key : {"add_prefix_space", "trim_offsets", "use_regex"})
           error = llvm::joinErrors(std::move(error),
                                    part.getBool(key, true).takeError());
         return error;
       }},
  };
  if (value.isNull())
    return Error::success();
  if (Error error = readTokenizerPart<Builder>(value, parts, *this))
    return error;
  // Each part of a sequence may add some.
  constexpr size_t most = 256;
  if (blob.prefix.size() <= most && blob.suffix.size() <= most)
    return Error::success();
  return value.error("expects at most " + Twine(most) +
                     " tokens before and behind a text, but got " +
                     Twine(std::max(blob.prefix.size(), blob.suffix.size())));
}

Error Builder::readTruncation(const JsonValue &value) {
  if (value.isNull())
    return Error::success();
  Expected<JsonObject> object = JsonObject::open(value);
  if (!object)
    return object.takeError();
  JsonValue longest;
  if (Error error = require(*object, "max_length", longest))
    return error;
  if (Error error = longest.getInt(1, INT32_MAX).moveInto(tokenizer.longest))
    return error;
  std::string direction;
  if (Error error = object->getString("direction", "Right").moveInto(direction))
    return error;
  if (direction != "Right")
    return object->find("direction").expects("\"Right\"");
  // These say how pairs are cut, and how the rest becomes texts of its own.
  object->find("strategy");
  object->find("stride");
  return object->finish();
}

//===----------------------------------------------------------------------===//
// tokenizer.json
//===----------------------------------------------------------------------===//

Error Builder::readFile(const JsonValue &value) {
  Expected<JsonObject> file = JsonObject::open(value);
  if (!file)
    return file.takeError();
  JsonValue version = file->find("version");
  if (!version.isNull() && *version.json != "1.0")
    return version.expects("\"1.0\"");
  file->find("padding"); // texts are never padded
  JsonValue model;
  if (Error error = require(*file, "model", model))
    return error;
  if (Error error = readTokenizerModel(model, vocabulary))
    return error;
  if (Error error = readAddedTokens(file->find("added_tokens")))
    return error;
  if (Error error = readNormalizer(file->find("normalizer"), blob))
    return error;
  if (Error error = readPreTokenizer(file->find("pre_tokenizer"), blob))
    return error;
  if (Error error = readPostProcessor(file->find("post_processor")))
    return error;
  if (Error error = readDecoder(file->find("decoder"), blob))
    return error;
  if (Error error = readTruncation(file->find("truncation")))
    return error;
  return file->finish();
}

/// Errors start with the file's name.
static Error inFile(const Twine &name, Error error) {
  if (!error)
    return error;
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 name + ": " +
                                     llvm::toString(std::move(error)));
}

static Error checkVocabulary(int64_t vocabulary) {
  if (vocabulary >= 1 && vocabulary <= TFM_TOKENIZER_MAX_TOKENS)
    return Error::success();
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 "expects a vocabulary of 1 to " +
                                     Twine(TFM_TOKENIZER_MAX_TOKENS) +
                                     " tokens, but got " + Twine(vocabulary));
}

Expected<HuggingFaceTokenizer> HuggingFaceTokenizer::parse(StringRef text,
                                                           int64_t vocabulary) {
  if (Error error = checkVocabulary(vocabulary))
    return std::move(error);
  Expected<nlohmann::json> root = parseJson(text);
  if (!root)
    return inFile(kTokenizerName, root.takeError());
  HuggingFaceTokenizer tokenizer;
  if (Error error = Builder(tokenizer, vocabulary).readFile({&*root, ""}))
    return inFile(kTokenizerName, std::move(error));
  return tokenizer;
}

//===----------------------------------------------------------------------===//
// vocab.txt
//===----------------------------------------------------------------------===//

/// One token a line; the first one has the id 0.
Error Builder::readVocabularyText(StringRef text) {
  blob.model = TFM_MODEL_WORD_PIECE;
  blob.piecePrefix = "##";
  blob.maxWord = 100;
  text.consume_back("\n");
  llvm::SmallVector<StringRef, 0> lines;
  text.split(lines, '\n');
  if (lines.size() > static_cast<size_t>(vocabulary.size()))
    return llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        "expects at most the vocabulary's size V = " +
            Twine(vocabulary.size()) + " tokens, but got " +
            Twine(lines.size()));
  for (auto [id, line] : llvm::enumerate(lines)) {
    line.consume_back("\r");
    nlohmann::json token = line.str();
    if (Error error = vocabulary.addWord(
            {&token, "line " + std::to_string(id + 1)}, line.str(), id))
      return error;
  }
  return Error::success();
}

/// Finds a special token that the configuration may give another name, as text
/// or as an object with its "content".
Error Builder::readNamedToken(JsonObject &config, StringRef key,
                              StringRef standard, uint32_t &id) {
  JsonValue value = config.find(key);
  std::string text = standard.str();
  if (value.json->is_object()) {
    Expected<JsonObject> token = JsonObject::open(value);
    if (!token)
      return token.takeError();
    if (Error error = require(*token, "content", value))
      return error;
  }
  if (!value.isNull())
    if (Error error = value.getString().moveInto(text))
      return error;
  nlohmann::json named = text;
  if (Error error = vocabulary.find({&named, value.place}, text).moveInto(id))
    return error;
  blob.tokens[id].flags = TFM_TOKEN_ADDED | TFM_TOKEN_SPECIAL;
  return Error::success();
}

/// Fields that say nothing about a text's tokens.
static constexpr StringRef kDescriptions[] = {
    "name_or_path",      "special_tokens_map_file",
    "tokenizer_file",    "clean_up_tokenization_spaces",
    "model_input_names", "padding_side",
    "truncation_side",   "init_inputs",
    "from_slow",         "processor_class"};

Error Builder::readConfig(const JsonValue &value) {
  Expected<JsonObject> config = JsonObject::open(value);
  if (!config)
    return config.takeError();
  std::string name;
  if (Error error =
          config->getString("tokenizer_class", "BertTokenizer").moveInto(name))
    return error;
  StringRef family = name;
  family.consume_back("Fast");
  if (family != "BertTokenizer" && family != "DistilBertTokenizer")
    return config->find("tokenizer_class")
        .expects("\"BertTokenizer\" or \"DistilBertTokenizer\" where there is "
                 "no tokenizer.json");

  BertRules rules;
  if (Error error =
          config->getBool("do_lower_case", true).moveInto(rules.lowers))
    return error;
  if (Error error = config->getBool("tokenize_chinese_chars", true)
                        .moveInto(rules.spacesIdeographs))
    return error;
  if (Error error = config->getBool("strip_accents", rules.lowers)
                        .moveInto(rules.stripsAccents))
    return error;
  bool isWhole;
  if (Error error =
          config->getBool("do_basic_tokenize", true).moveInto(isWhole))
    return error;
  if (!isWhole)
    return config->find("do_basic_tokenize").expects("true");
  if (JsonValue kept = config->find("never_split"); !kept.json->empty())
    return kept.expects("null");
  JsonValue longest = config->find("model_max_length");
  // A model without a limit has 1e30 here.
  if (longest.json->is_number_integer())
    if (Error error = longest.getInt(1, INT64_MAX).moveInto(tokenizer.longest))
      return error;

  uint32_t cls, sep, pad, mask;
  for (auto [key, standard, id] :
       {std::tuple("unk_token", "[UNK]", &blob.unknown),
        std::tuple("cls_token", "[CLS]", &cls),
        std::tuple("sep_token", "[SEP]", &sep),
        std::tuple("pad_token", "[PAD]", &pad),
        std::tuple("mask_token", "[MASK]", &mask)})
    if (Error error = readNamedToken(*config, key, standard, *id))
      return error;
  for (StringRef key : kDescriptions)
    config->find(key);
  appendBertNormalizer(rules, blob);
  appendBertPreTokenizer(blob);
  appendWordPieceDecoder(blob.piecePrefix, /*cleansUp=*/true, blob);
  surround({cls}, {sep});
  return config->finish();
}

static std::string inside(StringRef directory, StringRef name) {
  llvm::SmallString<256> path(directory);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

Expected<HuggingFaceTokenizer> HuggingFaceTokenizer::read(StringRef directory,
                                                          int64_t vocabulary) {
  std::string path = inside(directory, kTokenizerName);
  std::string words = inside(directory, kVocabularyName);
  if (llvm::sys::fs::exists(path) || !llvm::sys::fs::exists(words)) {
    Expected<std::string> text = readWholeFile(path, "a JSON file", kMostBytes);
    if (!text)
      return text.takeError();
    return parse(*text, vocabulary);
  }

  Expected<std::string> text = readWholeFile(words, "a text file", kMostBytes);
  if (!text)
    return text.takeError();
  std::string options = "{}";
  std::string config = inside(directory, kConfigName);
  if (llvm::sys::fs::exists(config))
    if (Error error =
            readWholeFile(config, "a JSON file", kMostBytes).moveInto(options))
      return std::move(error);
  return parseVocabulary(*text, options, vocabulary);
}

Expected<HuggingFaceTokenizer>
HuggingFaceTokenizer::parseVocabulary(StringRef words, StringRef config,
                                      int64_t vocabulary) {
  if (Error error = checkVocabulary(vocabulary))
    return std::move(error);
  HuggingFaceTokenizer tokenizer;
  Builder builder(tokenizer, vocabulary);
  if (Error error = builder.readVocabularyText(words))
    return inFile(kVocabularyName, std::move(error));
  Expected<nlohmann::json> root = parseJson(config);
  if (!root)
    return inFile(kConfigName, root.takeError());
  if (Error error = builder.readConfig({&*root, ""}))
    return inFile(kConfigName, std::move(error));
  return tokenizer;
}
