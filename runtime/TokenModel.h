//===- TokenModel.h - Tokens of a word --------------------------*- C++ -*-===//
//
// The models of tfm_tokenizer_format.h: byte-pair encoding, WordPiece, whole
// words, Unigram.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_TOKENMODEL_H
#define TFM_RUNTIME_TOKENMODEL_H

#include "runtime/Lexicon.h"
#include "runtime/TokenizerData.h"

#include <array>
#include <cstdint>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tfm {

/// Two neighbouring tokens, as the key of their merge.
using TokenPair = uint64_t;
inline TokenPair makePair(uint32_t left, uint32_t right) {
  return static_cast<TokenPair>(left) << 32 | right;
}

/// Merges the tokens of one word after the other. Tokens form a list; possible
/// merges wait in a heap and are dropped when a token in them has changed
/// meanwhile. So a word of n tokens takes O(n log n).
class Merger {
public:
  Merger(const std::unordered_map<TokenPair, uint32_t> &ranks,
         std::span<const tfm_merge> merges)
      : ranks(ranks), merges(merges) {}

  void add(int32_t id) {
    int32_t place = static_cast<int32_t>(tokens.size());
    tokens.push_back({id, place - 1, place + 1});
  }

  /// Appends what becomes of the tokens that were added, and forgets them.
  void mergeInto(std::vector<int32_t> &ids);

private:
  struct Token {
    int32_t id; ///< -1: merged into the one before
    int32_t previous, next;
  };
  struct Candidate {
    uint32_t rank;
    int32_t place; ///< of the left token
    bool operator>(const Candidate &other) const {
      return rank != other.rank ? rank > other.rank : place > other.place;
    }
  };

  uint32_t findRank(int32_t place) const;
  void consider(int32_t place);

  const std::unordered_map<TokenPair, uint32_t> &ranks;
  std::span<const tfm_merge> merges;
  std::vector<Token> tokens;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>>
      candidates;
};

/// Unchanging once created; may be used by several threads.
class TokenModel {
public:
  /// `data` must outlive the model.
  void create(const TokenizerData &data);

  /// A merger of this model's, for `encode`.
  Merger makeMerger() const { return Merger(ranks, data->merges); }

  /// Appends the tokens of `word`. What has none is the unknown token, or
  /// nothing without one.
  void encode(std::string_view word, Merger &merger,
              std::vector<int32_t> &ids) const;

private:
  void mergeCharacters(std::string_view word, Merger &merger,
                       std::vector<int32_t> &ids) const;
  void findPieces(std::string_view word, std::vector<int32_t> &ids) const;
  void findBestPath(std::string_view word, std::vector<int32_t> &ids) const;
  int32_t findCharacter(std::string_view character, bool begins,
                        bool ends) const;
  void appendUnknown(std::vector<int32_t> &ids) const;
  bool fallBackToBytes(std::string_view text, std::vector<int32_t> &ids) const;
  bool has(tfm_model_flag flag) const {
    return data->header.model_flags & flag;
  }

  const TokenizerData *data = nullptr;
  Lexicon words;
  Lexicon tails; ///< WordPiece: of words that begin with the prefix, the rest
  std::string_view piecePrefix, wordSuffix;
  std::unordered_map<TokenPair, uint32_t> ranks;
  std::array<int32_t, 256> byteTokens; ///< "<0x00>" and on; -1: none
  /// Tokens of the first characters of Unicode, those that spell bytes among
  /// them; -1: none.
  std::array<int32_t, 0x180> commonCharacters;
  double unknownScore = 0;
};

} // namespace tfm

#endif // TFM_RUNTIME_TOKENMODEL_H
