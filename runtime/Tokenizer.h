//===- Tokenizer.h - Text to tokens and back --------------------*- C++ -*-===//
//
// Carries out what a blob of tfm_tokenizer_format.h describes.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_TOKENIZER_H
#define TFM_RUNTIME_TOKENIZER_H

#include "runtime/AddedTokens.h"
#include "runtime/Error.h"
#include "runtime/PreTokenizer.h"
#include "runtime/TokenDecoder.h"
#include "runtime/TokenModel.h"
#include "runtime/TokenizerData.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tfm {

/// Unchanging once created; may be used by several threads. Stays where it was
/// created.
class Tokenizer {
public:
  Tokenizer() = default;
  Tokenizer(const Tokenizer &) = delete;
  Tokenizer &operator=(const Tokenizer &) = delete;

  /// Checks the `bytes` at `blob` and builds the tables. The blob must outlive
  /// the tokenizer. `vocabulary` is the number of tokens that the model knows.
  Error create(const void *blob, uint64_t bytes, int32_t vocabulary);

  /// Appends the tokens of `text`, between the prefix and the suffix that the
  /// model expects. What the vocabulary has no token for is left out, or is its
  /// unknown token. Bytes that are not UTF-8 are kept by byte-level
  /// vocabularies; others see a U+FFFD in the place of each run.
  Error encode(std::string_view text, std::vector<int32_t> &ids) const;

  /// Cuts the tokens of one text to `most`: the last ones before the suffix go.
  /// A prefix and a suffix that don't fit are cut, too.
  void truncate(std::vector<int32_t> &ids, size_t most) const;

  /// The text of `ids`. Special tokens and what is no token have none.
  std::string decode(std::span<const int32_t> ids) const;

private:
  friend class StreamDecoder;

  struct Encoding;
  Error encodeRaw(std::string_view text, bool isFirst,
                  Encoding &encoding) const;
  Error encodeValid(std::string_view text, bool isFirst,
                    Encoding &encoding) const;
  Error encodeNormal(Piece piece, Encoding &encoding) const;
  Error findAddedTokens();
  bool isDecoded(int32_t id) const;

  TokenizerData data;
  PreTokenizer preTokenizer;
  TokenModel model;
  TokenDecoder decoder;
  AddedTokens added, addedNormal;      ///< by text as it is, by normalized text
  std::deque<std::string> normalTexts; ///< of `addedNormal`
};

/// Turns a stream of tokens into whole UTF-8 sequences.
class StreamDecoder {
public:
  explicit StreamDecoder(const Tokenizer &tokenizer) : tokenizer(&tokenizer) {}

  /// The text that is complete with token `id`, valid until the next call. A
  /// sequence that the token leaves open is held back, unless this is the
  /// `last` token.
  std::string_view append(int32_t id, bool last);

private:
  const Tokenizer *tokenizer;
  Workspace workspace;
  TokenDecoder::Progress progress;
  std::string text;
  size_t given = 0; ///< bytes at the start of `text` that the last call gave
};

} // namespace tfm

#endif // TFM_RUNTIME_TOKENIZER_H
