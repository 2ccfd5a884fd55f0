//===- GgufTokenizer.h - The tokenizer of a GGUF file -----------*- C++ -*-===//

#ifndef TFM_IMPORT_GGUFTOKENIZER_H
#define TFM_IMPORT_GGUFTOKENIZER_H

#include "import/TokenizerBlob.h"
#include "import/formats/Gguf.h"

namespace mlir::tfm {

/// A byte-level BPE tokenizer.
struct GgufTokenizer {
  TokenizerBlob blob;
  int64_t bos, eos; ///< start and end of text, −1 if there is none
  bool addBos;      ///< whether prompts start with `bos`

  /// Reads the keys `tokenizer.ggml.*`. Fails on tokens, merges and ids that
  /// contradict each other, and on whatever would make other tokens of a text
  /// and isn't supported.
  static llvm::Expected<GgufTokenizer> read(GgufFile &file);
};

} // namespace mlir::tfm

#endif // TFM_IMPORT_GGUFTOKENIZER_H
