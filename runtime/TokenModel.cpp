//===- TokenModel.cpp - Tokens of a word ----------------------------------===//
//
// See TokenModel.h. Where papers leave a choice, it is the Hugging Face
// tokenizers library's.
//
//===----------------------------------------------------------------------===//

#include "runtime/TokenModel.h"
#include "runtime/ByteAlphabet.h"
#include "runtime/Utf8.h"

#include <algorithm>

using namespace tfm;

/// The bytes of the first character; of what is not UTF-8, 1.
static size_t measureCharacter(std::string_view text) {
  Character next = decodeCharacter(text);
  return next.kind == Character::Valid ? next.bytes : 1;
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

static constexpr uint32_t noRank = UINT32_MAX;

/// The rank of the merge of `place` with its successor.
uint32_t Merger::findRank(int32_t place) const {
  const Token &left = tokens[place];
  if (left.next < 0)
    return noRank;
  auto found =
      ranks.find(makePair(static_cast<uint32_t>(left.id),
                          static_cast<uint32_t>(tokens[left.next].id)));
  return found == ranks.end() ? noRank : found->second;
}

void Merger::consider(int32_t place) {
  if (uint32_t rank = findRank(place); rank != noRank)
    candidates.push({rank, place});
}

void Merger::mergeInto(std::vector<int32_t> &ids) {
  if (tokens.empty())
    return;
  tokens.back().next = -1;
  for (size_t place = 0; place + 1 < tokens.size(); ++place)
    consider(static_cast<int32_t>(place));
  while (!candidates.empty()) {
    Candidate best = candidates.top();
    candidates.pop();
    Token &left = tokens[best.place];
    if (left.id < 0 || findRank(best.place) != best.rank)
      continue;
    Token &right = tokens[left.next];
    left.id = static_cast<int32_t>(merges[best.rank].result);
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0)
      tokens[left.next].previous = best.place;
    consider(best.place);
    if (left.previous >= 0)
      consider(left.previous);
  }
  for (int32_t place = 0; place >= 0; place = tokens[place].next)
    ids.push_back(tokens[place].id);
  tokens.clear();
}

//===----------------------------------------------------------------------===//
// The tables
//===----------------------------------------------------------------------===//

void TokenModel::create(const TokenizerData &data) {
  *this = {};
  this->data = &data;
  piecePrefix = data.string(data.header.piece_prefix);
  wordSuffix = data.string(data.header.word_suffix);
  byteTokens.fill(-1);
  commonCharacters.fill(-1);
  // WordPiece's values are tokens, Unigram's are places in `scores`.
  bool isUnigram = data.header.model == TFM_MODEL_UNIGRAM;
  words.reserve(data.words.size());
  for (size_t place = 0; place < data.words.size(); ++place) {
    auto id = static_cast<int32_t>(data.words[place]);
    std::string_view text = data.string(data.words[place]);
    words.append(text, isUnigram ? static_cast<int32_t>(place) : id);
    if (data.header.model == TFM_MODEL_WORD_PIECE &&
        text.starts_with(piecePrefix))
      tails.append(text.substr(piecePrefix.size()), id);
    if (int byte = readByteToken(text); byte >= 0)
      byteTokens[byte] = id;
    if (text.empty())
      continue;
    Character first = decodeCharacter(text);
    if (first.kind == Character::Valid && first.bytes == text.size() &&
        first.code < commonCharacters.size())
      commonCharacters[first.code] = id;
  }
  ranks.reserve(data.merges.size());
  for (size_t rank = 0; rank < data.merges.size(); ++rank) {
    const tfm_merge &merge = data.merges[rank];
    ranks.emplace(makePair(merge.left, merge.right),
                  static_cast<uint32_t>(rank));
  }
  if (!data.scores.empty()) {
    // SentencePiece's unigram_model.cc, kUnkPenalty.
    constexpr double penalty = 10;
    unknownScore =
        *std::min_element(data.scores.begin(), data.scores.end()) - penalty;
  }
}

void TokenModel::encode(std::string_view word, Merger &merger,
                        std::vector<int32_t> &ids) const {
  switch (data->header.model) {
  case TFM_MODEL_BPE:
    return mergeCharacters(word, merger, ids);
  case TFM_MODEL_WORD_PIECE:
    return findPieces(word, ids);
  case TFM_MODEL_UNIGRAM:
    return findBestPath(word, ids);
  default:
    if (int32_t id = words.find(word); id >= 0)
      ids.push_back(id);
    else
      appendUnknown(ids);
  }
}

void TokenModel::appendUnknown(std::vector<int32_t> &ids) const {
  if (data->header.unknown != TFM_NO_TOKEN)
    ids.push_back(static_cast<int32_t>(data->header.unknown));
}

/// Appends the tokens of the bytes of `text`, if all have some and the model
/// asks for them.
bool TokenModel::fallBackToBytes(std::string_view text,
                                 std::vector<int32_t> &ids) const {
  auto isMissing = [&](unsigned char byte) { return byteTokens[byte] < 0; };
  if (!has(TFM_MODEL_BYTE_FALLBACK) ||
      std::any_of(text.begin(), text.end(), isMissing))
    return false;
  for (unsigned char byte : text)
    ids.push_back(byteTokens[byte]);
  return true;
}

//===----------------------------------------------------------------------===//
// Byte-pair encoding
//===----------------------------------------------------------------------===//

/// The token of a character, or -1. `begins` and `ends`: its word.
int32_t TokenModel::findCharacter(std::string_view character, bool begins,
                                  bool ends) const {
  std::string_view prefix = begins ? std::string_view() : piecePrefix;
  std::string_view suffix = ends ? wordSuffix : std::string_view();
  if (!prefix.empty() || !suffix.empty())
    return words.find(std::string(prefix) + std::string(character) +
                      std::string(suffix));
  char32_t code = decodeCharacter(character).code;
  bool isCommon = code != 0 && code < commonCharacters.size();
  return isCommon ? commonCharacters[code] : words.find(character);
}

void TokenModel::mergeCharacters(std::string_view word, Merger &merger,
                                 std::vector<int32_t> &ids) const {
  if (has(TFM_MODEL_WHOLE_WORDS))
    if (int32_t whole = words.find(word); whole >= 0) {
      ids.push_back(whole);
      return;
    }
  std::vector<int32_t> bytes;
  bool wasUnknown = false;
  for (size_t begin = 0, end; begin < word.size(); begin = end) {
    end = begin + measureCharacter(word.substr(begin));
    std::string_view character = word.substr(begin, end - begin);
    int32_t id = findCharacter(character, begin == 0, end == word.size());
    bool isUnknown = false;
    if (id >= 0) {
      merger.add(id);
    } else if (bytes.clear(); fallBackToBytes(character, bytes)) {
      for (int32_t byte : bytes)
        merger.add(byte);
    } else if (data->header.unknown != TFM_NO_TOKEN) {
      isUnknown = true;
      if (!wasUnknown || !has(TFM_MODEL_FUSE_UNKNOWN))
        merger.add(static_cast<int32_t>(data->header.unknown));
    }
    wasUnknown = isUnknown;
  }
  merger.mergeInto(ids);
}

//===----------------------------------------------------------------------===//
// WordPiece
//===----------------------------------------------------------------------===//

void TokenModel::findPieces(std::string_view word,
                            std::vector<int32_t> &ids) const {
  size_t first = ids.size(), characters = 0;
  for (size_t place = 0; place < word.size();
       place += measureCharacter(word.substr(place)))
    ++characters;
  if (characters > data->header.max_word)
    return appendUnknown(ids);
  for (std::string_view rest = word; !rest.empty();) {
    size_t longest = 0;
    int32_t id = -1;
    (rest.size() == word.size() ? words : tails)
        .forEachPrefix(rest, [&](size_t bytes, int32_t found) {
          longest = bytes;
          id = found;
        });
    if (longest == 0) {
      ids.resize(first);
      return appendUnknown(ids);
    }
    ids.push_back(id);
    rest.remove_prefix(longest);
  }
}

//===----------------------------------------------------------------------===//
// Unigram
//===----------------------------------------------------------------------===//

/// Viterbi's algorithm: the best path to each place from those before it.
void TokenModel::findBestPath(std::string_view word,
                              std::vector<int32_t> &ids) const {
  constexpr int32_t unknown = -1;
  struct Node {
    double score = 0;
    size_t begin = SIZE_MAX; ///< of the last token on the way here
    int32_t place = unknown; ///< its place in `words`
  };
  std::vector<Node> best(word.size() + 1);
  for (size_t begin = 0; begin < word.size();) {
    size_t character = measureCharacter(word.substr(begin));
    bool isKnown = false;
    auto reach = [&](size_t bytes, double score, int32_t place) {
      Node &node = best[begin + bytes];
      double sum = best[begin].score + score;
      if (node.begin == SIZE_MAX || sum > node.score)
        node = {sum, begin, place};
    };
    words.forEachPrefix(word.substr(begin), [&](size_t bytes, int32_t place) {
      if (bytes == 0)
        return;
      isKnown |= bytes == character;
      reach(bytes, data->scores[place], place);
    });
    if (!isKnown)
      reach(character, unknownScore, unknown);
    begin += character;
  }

  // Backwards, and neighbouring unknown characters are one.
  std::vector<std::pair<std::string_view, int32_t>> path;
  for (size_t end = word.size(); end > 0;) {
    const Node &node = best[end];
    std::string_view text = word.substr(node.begin, end - node.begin);
    end = node.begin;
    bool joins = has(TFM_MODEL_FUSE_UNKNOWN) && node.place == unknown &&
                 !path.empty() && path.back().second == unknown;
    if (joins)
      path.back().first = {text.data(), text.size() + path.back().first.size()};
    else
      path.push_back({text, node.place});
  }
  for (auto step = path.rbegin(); step != path.rend(); ++step) {
    auto [text, place] = *step;
    if (place != unknown)
      ids.push_back(static_cast<int32_t>(data->words[place]));
    else if (!fallBackToBytes(text, ids))
      appendUnknown(ids);
  }
}
