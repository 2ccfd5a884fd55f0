//===- TokenizerVocabulary.h - Tokens and models of files -------*- C++ -*-===//

#ifndef TFM_IMPORT_TOKENIZERVOCABULARY_H
#define TFM_IMPORT_TOKENIZERVOCABULARY_H

#include "import/JsonObject.h"
#include "import/TokenizerBlob.h"
#include "llvm/ADT/StringMap.h"
#include <optional>

namespace mlir::tfm {

/// The tokens of a blob while a file is read: each id has one text, and each
/// text one id. Errors are about the value that says otherwise.
class TokenizerVocabulary {
public:
  /// Gives `blob` as many empty tokens as the model has, `size`.
  TokenizerVocabulary(TokenizerBlob &blob, int64_t size);

  TokenizerBlob &getBlob() { return blob; }
  int64_t size() const { return static_cast<int64_t>(blob.tokens.size()); }

  /// The id that `value` is.
  llvm::Expected<uint32_t> readId(const JsonValue &value) const;

  /// The id of `text`, if it has one.
  std::optional<uint32_t> lookUp(llvm::StringRef text) const;

  /// The id of `text`, which `value` names.
  llvm::Expected<uint32_t> find(const JsonValue &value,
                                const std::string &text) const;

  /// A token that the model makes.
  llvm::Error addWord(const JsonValue &value, const std::string &text,
                      uint32_t id, double score = 0);

  /// A token that is found in text whole, and may be the model's as well.
  llvm::Error addToken(const JsonValue &value, const std::string &text,
                       uint32_t id, uint8_t flags);

private:
  TokenizerBlob &blob;
  std::vector<bool> taken; ///< whether an id has a text
  llvm::StringMap<uint32_t> ids;
};

/// Reads the "model" of a tokenizer.json: BPE, WordPiece, WordLevel or Unigram.
llvm::Error readTokenizerModel(const JsonValue &value,
                               TokenizerVocabulary &vocabulary);

} // namespace mlir::tfm

#endif // TFM_IMPORT_TOKENIZERVOCABULARY_H
