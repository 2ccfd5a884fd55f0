//===- TokenizerBlob.h - Writing the "tokenizer" resource -------*- C++ -*-===//
//
// What readers of tokenizers have in common, whatever the file: the parts of
// runtime/include/tfm_tokenizer_format.h, and their bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_IMPORT_TOKENIZERBLOB_H
#define TFM_IMPORT_TOKENIZERBLOB_H

#include "runtime/include/tfm_tokenizer_format.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mlir::tfm {

/// A `tfm_text_step` with its strings.
struct TextStep {
  tfm_step_kind kind;
  uint32_t flags = 0;
  std::string first = {}, second = {}, third = {};
};

/// A tokenizer. Fields are those of the format, and have to agree as it says.
struct TokenizerBlob {
  struct Token {
    std::string text;
    uint8_t flags = 0;   ///< `tfm_token_flag`
    bool isWord = false; ///< whether the model makes it
    double score = 0;    ///< of a word, with Unigram
  };

  std::vector<Token> tokens;
  std::vector<tfm_merge> merges;
  std::vector<TextStep> normalizer, preTokenizer, decoder;
  std::vector<uint32_t> prefix, suffix;
  tfm_token_model model = TFM_MODEL_BPE;
  uint32_t modelFlags = 0;
  uint32_t unknown = TFM_NO_TOKEN;
  std::string piecePrefix, wordSuffix;
  uint32_t maxWord = 0;

  /// The bytes. Strings are at most 4 GiB together.
  std::string encode() const;
};

} // namespace mlir::tfm

#endif // TFM_IMPORT_TOKENIZERBLOB_H
