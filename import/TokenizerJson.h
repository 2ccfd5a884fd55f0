//===- TokenizerJson.h - Tokenizers of Hugging Face -------------*- C++ -*-===//

#ifndef TFM_IMPORT_TOKENIZERJSON_H
#define TFM_IMPORT_TOKENIZERJSON_H

#include "import/TokenizerBlob.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>

namespace mlir::tfm {

/// What `tokenizer.json` describes, or, where a BERT has none, `vocab.txt` and
/// `tokenizer_config.json`.
struct HuggingFaceTokenizer {
  /// As many tokens as the model has; those that the file does not name are
  /// empty and never made.
  TokenizerBlob blob;

  /// The tokens that a text is cut to, if the file says so.
  std::optional<int64_t> longest;

  /// Reads the files of `directory`. `vocabulary` is the model's. Errors name
  /// the file and the place in it: parts and fields that are not known, values
  /// of the wrong kind, ids out of range or given twice, merges that name no
  /// token.
  static llvm::Expected<HuggingFaceTokenizer> read(llvm::StringRef directory,
                                                   int64_t vocabulary);

  /// The same for the text of a `tokenizer.json`.
  static llvm::Expected<HuggingFaceTokenizer> parse(llvm::StringRef text,
                                                    int64_t vocabulary);

  /// The same for the texts of a `vocab.txt` and a `tokenizer_config.json`.
  static llvm::Expected<HuggingFaceTokenizer>
  parseVocabulary(llvm::StringRef words, llvm::StringRef config,
                  int64_t vocabulary);
};

} // namespace mlir::tfm

#endif // TFM_IMPORT_TOKENIZERJSON_H
