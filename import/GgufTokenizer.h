//===- GgufTokenizer.h - The tokenizer of a GGUF file -----------*- C++ -*-===//

#ifndef TFM_IMPORT_GGUFTOKENIZER_H
#define TFM_IMPORT_GGUFTOKENIZER_H

#include "import/formats/Gguf.h"
#include "runtime/include/tfm_tokenizer_format.h"

namespace mlir::tfm {

/// A byte-level BPE tokenizer. Strings belong to the file.
struct GgufTokenizer {
  std::vector<llvm::StringRef> tokens;
  std::vector<int64_t> types; ///< `tfm_token_type`, one a token
  std::vector<tfm_merge> merges;
  tfm_pre_tokenizer preTokenizer;
  int64_t bos, eos; ///< start and end of text, −1 if there is none
  bool addBos;      ///< whether prompts start with `bos`

  /// Reads the keys `tokenizer.ggml.*`. Fails on tokens, merges and ids that
  /// contradict each other, and on whatever would make other tokens of a text
  /// and isn't supported.
  static llvm::Expected<GgufTokenizer> read(GgufFile &file);

  /// The bytes that runtime/include/tfm_tokenizer_format.h describes.
  std::string encode() const;
};

} // namespace mlir::tfm

#endif // TFM_IMPORT_GGUFTOKENIZER_H
