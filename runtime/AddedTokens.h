//===- AddedTokens.h - Tokens found in text whole ---------------*- C++ -*-===//

#ifndef TFM_RUNTIME_ADDEDTOKENS_H
#define TFM_RUNTIME_ADDEDTOKENS_H

#include "runtime/Lexicon.h"

#include <array>
#include <span>

namespace tfm {

/// Finds tokens such as "<|im_start|>" in a text: from left to right, the
/// longest at each place. Unchanging once filled.
class AddedTokens {
public:
  /// `flags`, of all tokens, are `tfm_token_flag`.
  explicit AddedTokens(std::span<const uint8_t> flags = {}) : flags(flags) {}

  void add(std::string_view text, int32_t id);

  /// To be called when all tokens are there.
  void sort() { tokens.sort(); }

  /// A part of a text: a token, or what is between two.
  struct Part {
    std::string_view text;
    int32_t id; ///< -1: no token
  };

  /// The parts of `text`, which is not empty, in order; together, with the
  /// white space that tokens take along, they are the text.
  std::vector<Part> find(std::string_view text) const;

private:
  struct Found {
    size_t begin, end;
    int32_t id; ///< -1: there is none
  };
  Found findNext(std::string_view text, size_t from) const;
  bool has(int32_t id, unsigned flag) const {
    return flags[static_cast<size_t>(id)] & flag;
  }

  std::span<const uint8_t> flags;
  Lexicon tokens;
  std::array<bool, 256> begins = {}; ///< whether some token begins with a byte
};

} // namespace tfm

#endif // TFM_RUNTIME_ADDEDTOKENS_H
