//===- Tokenizer.h - Byte-level BPE -----------------------------*- C++ -*-===//
//
// Text to tokens and back, from the blob of tfm_tokenizer_format.h: special
// tokens are found first, the text between them is cut into words, and the
// bytes of each word are merged pair by pair, lowest rank first (Sennrich et
// al., "Neural Machine Translation of Rare Words with Subword Units", 2016,
// on bytes as in GPT-2).
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_TOKENIZER_H
#define TFM_RUNTIME_TOKENIZER_H

#include "runtime/Error.h"
#include "runtime/PreTokenizer.h"
#include "runtime/include/tfm_tokenizer_format.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tfm {

/// Unchanging once created; may be used by several threads.
class Tokenizer {
public:
  /// Checks the `bytes` at `blob` and builds the tables. The blob must outlive
  /// the tokenizer. `vocabulary` is the number of tokens that the model knows.
  Error create(const void *blob, uint64_t bytes, int32_t vocabulary);

  /// Appends the tokens of `text`. Bytes that the vocabulary has no token for
  /// are left out.
  Error encode(std::string_view text, std::vector<int32_t> &ids) const;

  /// Appends the bytes of token `id`, nothing for a control token or an `id`
  /// out of range.
  void decode(int32_t id, std::string &text) const;

private:
  std::string_view spelling(uint32_t id) const;
  void addByte(uint32_t id);
  size_t matchSpecial(std::string_view text, int32_t &id) const;
  int32_t findWhole(std::string_view word) const;

  const uint32_t *offsets = nullptr;
  const tfm_merge *merges = nullptr;
  const uint8_t *types = nullptr;
  const char *strings = nullptr;
  uint32_t count = 0;

  PreTokenizer preTokenizer;
  std::array<int32_t, 256> byteTokens;          ///< -1: the vocabulary has none
  std::unordered_map<uint64_t, uint32_t> ranks; ///< by left << 32 | right
  std::unordered_map<std::string_view, int32_t> specials;
  /// Normal tokens by spelling, if the pre-tokenizer keeps whole words.
  std::unordered_map<std::string_view, int32_t> wholeWords;
  /// The lengths of the special tokens that start with a byte, longest first.
  std::array<std::vector<size_t>, 256> specialLengths;
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
  std::string text;
  size_t given = 0; ///< bytes at the start of `text` that the last call gave
};

} // namespace tfm

#endif // TFM_RUNTIME_TOKENIZER_H
