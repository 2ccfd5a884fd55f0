//===- TokenizerBlob.h - Small tokenizers for tests -------------*- C++ -*-===//
//
// Writes the blob of tfm_tokenizer_format.h from token spellings.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_TEST_RUNTIME_TOKENIZERBLOB_H
#define TFM_TEST_RUNTIME_TOKENIZERBLOB_H

#include "runtime/include/tfm_tokenizer_format.h"

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tfm::test {

struct TokenizerBlob {
  uint32_t preTokenizer = TFM_PRE_TOKENIZER_SMOLLM;
  std::vector<std::pair<std::string, tfm_token_type>> tokens;
  std::vector<std::pair<std::string, std::string>> merges;

  /// Words of 8 bytes, for the alignment that the format asks for; `bytes`
  /// receives the blob's size.
  std::vector<uint64_t> write(uint64_t &bytes) const {
    std::map<std::string, uint32_t> ids;
    std::vector<uint32_t> offsets = {0};
    std::string types, strings;
    for (const auto &[text, type] : tokens) {
      ids.emplace(text, static_cast<uint32_t>(ids.size()));
      types += static_cast<char>(type);
      strings += text;
      offsets.push_back(static_cast<uint32_t>(strings.size()));
    }
    std::vector<tfm_merge> pairs;
    for (const auto &[left, right] : merges)
      pairs.push_back({ids.at(left), ids.at(right), ids.at(left + right)});
    tfm_tokenizer_header header = {TFM_TOKENIZER_MAGIC,
                                   TFM_TOKENIZER_VERSION,
                                   preTokenizer,
                                   static_cast<uint32_t>(tokens.size()),
                                   static_cast<uint32_t>(pairs.size()),
                                   static_cast<uint32_t>(strings.size()),
                                   0};
    std::string blob(reinterpret_cast<char *>(&header), sizeof header);
    blob.append(reinterpret_cast<char *>(offsets.data()),
                offsets.size() * sizeof(uint32_t));
    blob.append(reinterpret_cast<char *>(pairs.data()),
                pairs.size() * sizeof(tfm_merge));
    blob += types + strings;
    bytes = blob.size();
    std::vector<uint64_t> words((bytes + 7) / 8);
    std::memcpy(words.data(), blob.data(), bytes);
    return words;
  }
};

} // namespace tfm::test

#endif // TFM_TEST_RUNTIME_TOKENIZERBLOB_H
