//===- TokenizerBlob.h - Small tokenizers for tests -------------*- C++ -*-===//
//
// Byte-level BPE from token spellings, as the importer makes it of SmolLM2's.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_TEST_RUNTIME_TOKENIZERBLOB_H
#define TFM_TEST_RUNTIME_TOKENIZERBLOB_H

#include "import/TokenizerBlob.h"

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tfm::test {

enum class TokenKind {
  Word,    ///< made by merges
  Control, ///< found in text whole, decodes to nothing
  User,    ///< found in text whole, decodes to its string
  Unused,  ///< never made from text
};

/// Words of 8 bytes, for the alignment that the format asks for; `bytes`
/// receives the blob's size.
inline std::vector<uint64_t> alignBlob(const std::string &blob,
                                       uint64_t &bytes) {
  bytes = blob.size();
  std::vector<uint64_t> words((bytes + 7) / 8);
  std::memcpy(words.data(), blob.data(), bytes);
  return words;
}

struct TokenizerBlob {
  std::vector<std::pair<std::string, TokenKind>> tokens;
  std::vector<std::pair<std::string, std::string>> merges;

  mlir::tfm::TokenizerBlob make() const {
    mlir::tfm::TokenizerBlob blob;
    std::map<std::string, uint32_t> ids;
    for (const auto &[text, kind] : tokens) {
      ids.emplace(text, static_cast<uint32_t>(ids.size()));
      uint8_t flags = kind == TokenKind::Control
                          ? TFM_TOKEN_ADDED | TFM_TOKEN_SPECIAL
                      : kind == TokenKind::User ? TFM_TOKEN_ADDED
                                                : 0;
      blob.tokens.push_back({text, flags, kind == TokenKind::Word});
    }
    for (const auto &[left, right] : merges)
      blob.merges.push_back(
          {ids.at(left), ids.at(right), ids.at(left + right)});
    blob.preTokenizer = {
        {TFM_STEP_SPLIT, TFM_SPLIT_ISOLATED, R"(\p{N})"},
        {TFM_STEP_SPLIT, TFM_SPLIT_ISOLATED,
         R"('(?:[stmd]|re|ve|ll)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+)"
         R"(|\s+(?!\S)|\s+)"},
        {TFM_STEP_SPELL_BYTES}};
    blob.decoder = {{TFM_STEP_READ_BYTE_TOKENS}, {TFM_STEP_READ_BYTES}};
    return blob;
  }

  std::vector<uint64_t> write(uint64_t &bytes) const {
    return alignBlob(make().encode(), bytes);
  }
};

} // namespace tfm::test

#endif // TFM_TEST_RUNTIME_TOKENIZERBLOB_H
