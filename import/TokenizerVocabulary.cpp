//===- TokenizerVocabulary.cpp - Tokens and models of files ---------------===//
//
// See TokenizerVocabulary.h. What a field means is what version 0.23 of the
// Hugging Face tokenizers library takes it for.
//
//===----------------------------------------------------------------------===//

#include "import/TokenizerVocabulary.h"

#include "import/TokenizerSteps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir::tfm;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

using Vocabulary = TokenizerVocabulary;

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

TokenizerVocabulary::TokenizerVocabulary(TokenizerBlob &blob, int64_t size)
    : blob(blob), taken(size) {
  blob.tokens.resize(size);
}

Expected<uint32_t> TokenizerVocabulary::readId(const JsonValue &value) const {
  Expected<int64_t> id = value.getInt(0, INT64_MAX);
  if (!id)
    return id.takeError();
  if (*id < size())
    return static_cast<uint32_t>(*id);
  return value.expects("a token below the vocabulary's size V = " +
                       Twine(size()));
}

std::optional<uint32_t> TokenizerVocabulary::lookUp(StringRef text) const {
  auto found = ids.find(text);
  return found == ids.end() ? std::nullopt : std::optional(found->second);
}

Expected<uint32_t> TokenizerVocabulary::find(const JsonValue &value,
                                             const std::string &text) const {
  if (std::optional<uint32_t> id = lookUp(text))
    return *id;
  return value.expects("a token of the vocabulary");
}

Error TokenizerVocabulary::addWord(const JsonValue &value,
                                   const std::string &text, uint32_t id,
                                   double score) {
  auto [known, isNew] = ids.try_emplace(text, id);
  if (!isNew)
    return value.error("expects each token once, but got \"" + text + "\" as " +
                       Twine(known->second) + " and " + Twine(id));
  if (taken[id])
    return value.error("expects an id of its own, but got " + Twine(id) +
                       ", which \"" + blob.tokens[id].text + "\" has");
  taken[id] = true;
  blob.tokens[id] = {text, 0, /*isWord=*/true, score};
  return Error::success();
}

Error TokenizerVocabulary::addToken(const JsonValue &value,
                                    const std::string &text, uint32_t id,
                                    uint8_t flags) {
  TokenizerBlob::Token &token = blob.tokens[id];
  auto [known, isNew] = ids.try_emplace(text, id);
  if (known->second != id)
    return value.error("expects \"" + text + "\" as " + Twine(known->second) +
                       ", but got " + Twine(id));
  if (isNew && taken[id])
    return value.error("expects \"" + token.text + "\" as " + Twine(id) +
                       ", but got \"" + text + "\"");
  if (token.flags)
    return value.error("expects each token once, but got \"" + text +
                       "\" again");
  taken[id] = true;
  token.text = text;
  token.flags = flags;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

static Error readVocabulary(JsonObject &model, Vocabulary &vocabulary) {
  Expected<JsonValue> found = model.get("vocab");
  if (!found)
    return found.takeError();
  const JsonValue &value = *found;
  if (!value.json->is_object())
    return value.expects("an object");
  for (const auto &[text, json] : value.json->items()) {
    JsonValue entry = {&json, value.place + "[\"" + text + "\"]"};
    Expected<uint32_t> id = vocabulary.readId(entry);
    if (!id)
      return id.takeError();
    if (Error error = vocabulary.addWord(entry, text, *id))
      return error;
  }
  return Error::success();
}

/// Reads the token that stands for what has none.
static Error readUnknown(JsonObject &model, Vocabulary &vocabulary,
                         StringRef fallback) {
  TokenizerBlob &blob = vocabulary.getBlob();
  std::string text;
  if (Error error = model.getString("unk_token", fallback).moveInto(text))
    return error;
  if (text.empty())
    return Error::success();
  return vocabulary.find(model.find("unk_token"), text).moveInto(blob.unknown);
}

/// Reads `["a", "b"]` or `"a b"`.
static Error readMerge(const JsonValue &value, Vocabulary &vocabulary,
                       llvm::DenseSet<uint64_t> &pairs) {
  TokenizerBlob &blob = vocabulary.getBlob();
  std::string left, right;
  if (value.json->is_string()) {
    StringRef text = *value.json->get_ptr<const std::string *>();
    if (text.count(' ') != 1)
      return value.expects("two tokens and a space between them");
    std::tie(left, right) = text.split(' ');
  } else {
    auto sides = value.getElements();
    if (!sides)
      return sides.takeError();
    if (sides->size() != 2)
      return value.expects("two tokens");
    if (Error error = (*sides)[0].getString().moveInto(left))
      return error;
    if (Error error = (*sides)[1].getString().moveInto(right))
      return error;
  }
  StringRef tail = right;
  if (tail.size() < blob.piecePrefix.size())
    return value.expects("a second token with the prefix of continuing ones");
  tail = tail.drop_front(blob.piecePrefix.size());
  auto leftId = vocabulary.lookUp(left), rightId = vocabulary.lookUp(right);
  auto resultId = vocabulary.lookUp(left + tail.str());
  if (!leftId || !rightId || !resultId)
    return value.expects("two tokens that make a third");
  if (!pairs.insert(uint64_t(*leftId) << 32 | *rightId).second)
    return value.error("expects each merge once, but got " +
                       describe(*value.json) + " again");
  blob.merges.push_back({*leftId, *rightId, *resultId});
  return Error::success();
}

static Error readBpe(JsonObject &model, Vocabulary &vocabulary) {
  TokenizerBlob &blob = vocabulary.getBlob();
  blob.model = TFM_MODEL_BPE;
  if (Error error = readVocabulary(model, vocabulary))
    return error;
  if (Error error = readUnknown(model, vocabulary, ""))
    return error;
  struct {
    StringRef key;
    tfm_model_flag flag;
  } flags[] = {{"byte_fallback", TFM_MODEL_BYTE_FALLBACK},
               {"fuse_unk", TFM_MODEL_FUSE_UNKNOWN},
               {"ignore_merges", TFM_MODEL_WHOLE_WORDS}};
  for (auto [key, flag] : flags) {
    bool isSet;
    if (Error error = model.getBool(key, false).moveInto(isSet))
      return error;
    if (isSet)
      blob.modelFlags |= flag;
  }
  if (Error error = model.getString("continuing_subword_prefix", "")
                        .moveInto(blob.piecePrefix))
    return error;
  if (Error error =
          model.getString("end_of_word_suffix", "").moveInto(blob.wordSuffix))
    return error;
  // Merges left out at random, for training.
  JsonValue dropout = model.find("dropout");
  if (!dropout.isNull() && (!dropout.json->is_number() || *dropout.json != 0))
    return dropout.expects("null");

  Expected<JsonValue> value = model.get("merges");
  if (!value)
    return value.takeError();
  auto merges = value->getElements();
  if (!merges)
    return merges.takeError();
  if (merges->size() > TFM_TOKENIZER_MAX_MERGES)
    return value->error("expects at most " + Twine(TFM_TOKENIZER_MAX_MERGES) +
                        " merges, but got " + Twine(merges->size()));
  llvm::DenseSet<uint64_t> pairs;
  for (const JsonValue &merge : *merges)
    if (Error error = readMerge(merge, vocabulary, pairs))
      return error;
  return Error::success();
}

static Error readWordPiece(JsonObject &model, Vocabulary &vocabulary) {
  TokenizerBlob &blob = vocabulary.getBlob();
  blob.model = TFM_MODEL_WORD_PIECE;
  if (Error error = readVocabulary(model, vocabulary))
    return error;
  if (Error error = readUnknown(model, vocabulary, "[UNK]"))
    return error;
  if (Error error = model.getString("continuing_subword_prefix", "##")
                        .moveInto(blob.piecePrefix))
    return error;
  blob.maxWord = 100;
  JsonValue most = model.find("max_input_chars_per_word");
  if (most.isNull())
    return Error::success();
  return most.getInt(0, UINT32_MAX).moveInto(blob.maxWord);
}

static Error readWordLevel(JsonObject &model, Vocabulary &vocabulary) {
  TokenizerBlob &blob = vocabulary.getBlob();
  blob.model = TFM_MODEL_WORD_LEVEL;
  if (Error error = readVocabulary(model, vocabulary))
    return error;
  return readUnknown(model, vocabulary, "<unk>");
}

static Error readUnigram(JsonObject &model, Vocabulary &vocabulary) {
  TokenizerBlob &blob = vocabulary.getBlob();
  blob.model = TFM_MODEL_UNIGRAM;
  blob.modelFlags = TFM_MODEL_FUSE_UNKNOWN;
  Expected<JsonValue> found = model.get("vocab");
  if (!found)
    return found.takeError();
  const JsonValue &value = *found;
  auto entries = value.getElements();
  if (!entries)
    return entries.takeError();
  if (entries->size() > static_cast<uint64_t>(vocabulary.size()))
    return value.error("expects at most the vocabulary's size V = " +
                       Twine(vocabulary.size()) + " tokens, but got " +
                       Twine(entries->size()));
  for (auto [id, entry] : llvm::enumerate(*entries)) {
    auto pair = entry.getElements();
    if (!pair)
      return pair.takeError();
    if (pair->size() != 2)
      return entry.expects("a token and its score");
    std::string text;
    if (Error error = (*pair)[0].getString().moveInto(text))
      return error;
    double score;
    if (Error error = (*pair)[1].getFloat().moveInto(score))
      return error;
    if (!std::isfinite(score))
      return (*pair)[1].expects("a finite number");
    if (Error error = vocabulary.addWord(entry, text, id, score))
      return error;
  }
  bool fallsBack;
  if (Error error = model.getBool("byte_fallback", false).moveInto(fallsBack))
    return error;
  if (fallsBack)
    blob.modelFlags |= TFM_MODEL_BYTE_FALLBACK;
  JsonValue unknown = model.find("unk_id");
  if (unknown.isNull())
    return Error::success();
  if (Error error = vocabulary.readId(unknown).moveInto(blob.unknown))
    return error;
  if (blob.unknown < entries->size())
    return Error::success();
  return unknown.expects("one of the " + Twine(entries->size()) +
                         " tokens of the model");
}

using Model = TokenizerPart<Vocabulary>;
static constexpr Model kModels[] = {{"BPE", readBpe},
                                    {"WordPiece", readWordPiece},
                                    {"WordLevel", readWordLevel},
                                    {"Unigram", readUnigram}};

/// The model of a file from before models had a type, by the fields that no
/// other has.
static const Model &findOldModel(const nlohmann::json &fields) {
  if (fields.contains("merges"))
    return kModels[0];
  if (fields.contains("max_input_chars_per_word"))
    return kModels[1];
  bool isList = fields.contains("vocab") && fields["vocab"].is_array();
  return kModels[isList ? 3 : 2];
}

Error mlir::tfm::readTokenizerModel(const JsonValue &value,
                                    TokenizerVocabulary &vocabulary) {
  Expected<JsonObject> model = JsonObject::open(value);
  if (!model)
    return model.takeError();
  if (value.json->contains("type"))
    return readTokenizerPart<Vocabulary>(value, kModels, vocabulary);
  if (Error error = findOldModel(*value.json).read(*model, vocabulary))
    return error;
  return model->finish();
}
