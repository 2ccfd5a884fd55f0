//===- Tokenizer.cpp - Text to tokens and back ----------------------------===//
//
// See Tokenizer.h.
//
//===----------------------------------------------------------------------===//

#include "runtime/Tokenizer.h"
#include "runtime/ByteAlphabet.h"
#include "runtime/Utf8.h"

#include <algorithm>

using namespace tfm;

Error Tokenizer::create(const void *blob, uint64_t bytes, int32_t vocabulary) {
  if (Error error = data.open(blob, bytes))
    return error;
  if (data.header.token_count != static_cast<uint32_t>(vocabulary))
    return "expects a tokenizer of " + std::to_string(vocabulary) +
           " tokens, the model's vocabulary, but got " +
           std::to_string(data.header.token_count);
  if (Error error = preTokenizer.create(data))
    return error;
  if (Error error = decoder.create(data))
    return error;
  model.create(data);
  return findAddedTokens();
}

Error Tokenizer::findAddedTokens() {
  normalTexts.clear();
  added = addedNormal = AddedTokens(data.flags);
  Workspace workspace;
  for (uint32_t id = 0; id < data.header.token_count; ++id) {
    if (!(data.flags[id] & TFM_TOKEN_ADDED))
      continue;
    std::string_view text = data.string(id);
    if (!(data.flags[id] & TFM_TOKEN_NORMALIZED)) {
      added.add(text, static_cast<int32_t>(id));
      continue;
    }
    std::string &normal = normalTexts.emplace_back(text);
    workspace.start(text.size());
    if (countValidBytes(normal, true) == normal.size())
      if (Error error = preTokenizer.normalize(workspace, true, normal))
        return error;
    addedNormal.add(normal, static_cast<int32_t>(id));
  }
  added.sort();
  addedNormal.sort();
  return {};
}

//===----------------------------------------------------------------------===//
// Text to tokens
//===----------------------------------------------------------------------===//

/// What one call of `encode` works with.
struct Tokenizer::Encoding {
  std::vector<int32_t> &ids;
  Merger merger;
  Workspace workspace;
  PreTokenizer::Words words;
};

/// `text` with a U+FFFD in the place of each run of bytes that is not UTF-8.
static std::string replaceInvalid(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    size_t valid = countValidBytes(text, true);
    result += text.substr(0, valid);
    text.remove_prefix(valid);
    size_t invalid = countValidBytes(text, false);
    if (invalid)
      result += "\uFFFD";
    text.remove_prefix(invalid);
  }
  return result;
}

Error Tokenizer::encode(std::string_view text,
                        std::vector<int32_t> &ids) const {
  if (text.size() > INT32_MAX)
    return "expects a text of at most " + std::to_string(INT32_MAX) +
           " bytes, but got " + std::to_string(text.size());
  std::string valid;
  if (!preTokenizer.spellsBytes() && countValidBytes(text, true) != text.size())
    text = valid = replaceInvalid(text);

  Encoding encoding = {ids, model.makeMerger(), {}, {}};
  encoding.workspace.start(text.size());
  ids.insert(ids.end(), data.prefix.begin(), data.prefix.end());
  for (const AddedTokens::Part &part : added.find(text)) {
    if (part.id >= 0)
      ids.push_back(part.id);
    else if (Error error = encodeRaw(part.text, part.text.data() == text.data(),
                                     encoding))
      return error;
  }
  ids.insert(ids.end(), data.suffix.begin(), data.suffix.end());
  return {};
}

/// Appends the tokens of `text`. Each run of bytes that is not UTF-8 is a word.
Error Tokenizer::encodeRaw(std::string_view text, bool isFirst,
                           Encoding &encoding) const {
  while (!text.empty()) {
    size_t valid = countValidBytes(text, true);
    if (valid)
      if (Error error = encodeValid(text.substr(0, valid), isFirst, encoding))
        return error;
    text.remove_prefix(valid);
    if (size_t invalid = countValidBytes(text, false)) {
      model.encode(spellBytes(text.substr(0, invalid)), encoding.merger,
                   encoding.ids);
      text.remove_prefix(invalid);
    }
    isFirst = false;
  }
  return {};
}

Error Tokenizer::encodeValid(std::string_view text, bool isFirst,
                             Encoding &encoding) const {
  std::string normal;
  if (preTokenizer.hasNormalizer()) {
    normal = text;
    if (Error error =
            preTokenizer.normalize(encoding.workspace, isFirst, normal))
      return error;
    text = normal;
  }
  for (const AddedTokens::Part &part : addedNormal.find(text)) {
    Piece piece = {part.text, isFirst && part.text.data() == text.data()};
    if (part.id >= 0)
      encoding.ids.push_back(part.id);
    else if (Error error = encodeNormal(piece, encoding))
      return error;
  }
  return {};
}

Error Tokenizer::encodeNormal(Piece piece, Encoding &encoding) const {
  PreTokenizer::Words &words = encoding.words;
  words.pieces.clear();
  words.texts.clear();
  if (Error error = preTokenizer.split(encoding.workspace, piece, words))
    return error;
  for (Piece word : words.pieces)
    model.encode(word.text, encoding.merger, encoding.ids);
  return {};
}

void Tokenizer::truncate(std::vector<int32_t> &ids, size_t most) const {
  if (ids.size() <= most)
    return;
  size_t kept = std::min(data.suffix.size(), most);
  std::copy(ids.end() - static_cast<ptrdiff_t>(kept), ids.end(),
            ids.begin() + static_cast<ptrdiff_t>(most - kept));
  ids.resize(most);
}

//===----------------------------------------------------------------------===//
// Tokens to text
//===----------------------------------------------------------------------===//

bool Tokenizer::isDecoded(int32_t id) const {
  return id >= 0 && static_cast<uint32_t>(id) < data.header.token_count &&
         !(data.flags[static_cast<size_t>(id)] & TFM_TOKEN_SPECIAL);
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  std::string text;
  StreamDecoder stream(*this);
  for (size_t i = 0; i < ids.size(); ++i)
    text += stream.append(ids[i], i + 1 == ids.size());
  return text;
}

std::string_view StreamDecoder::append(int32_t id, bool last) {
  text.erase(0, given);
  if (tokenizer->isDecoded(id)) {
    std::string token(tokenizer->data.string(static_cast<uint32_t>(id)));
    workspace.start(token.size());
    text += tokenizer->decoder.decode(std::move(token), workspace, progress);
  }
  given = text.size() - (last ? 0 : countTruncatedBytes(text));
  return std::string_view(text).substr(0, given);
}
