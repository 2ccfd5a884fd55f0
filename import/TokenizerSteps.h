//===- TokenizerSteps.h - Parts of a tokenizer.json -------------*- C++ -*-===//
//
// Normalizers, pre-tokenizers and decoders of the Hugging Face tokenizers
// library, as steps of runtime/include/tfm_tokenizer_format.h. A part that is
// not known, or a field of one, is an error that names it.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_IMPORT_TOKENIZERSTEPS_H
#define TFM_IMPORT_TOKENIZERSTEPS_H

#include "import/JsonObject.h"
#include "import/TokenizerBlob.h"
#include "llvm/ADT/ArrayRef.h"

namespace mlir::tfm {

/// Append the steps of the part that `value` describes; null has none, but for
/// the decoder, which then puts spaces between tokens.
llvm::Error readNormalizer(const JsonValue &value, TokenizerBlob &blob);
llvm::Error readPreTokenizer(const JsonValue &value, TokenizerBlob &blob);
llvm::Error readDecoder(const JsonValue &value, TokenizerBlob &blob);

/// The steps of BERT's tokenizer (tokenization.py of its release).
struct BertRules {
  bool cleansText = true;       ///< drops control characters
  bool spacesIdeographs = true; ///< makes each of Chinese a word
  bool stripsAccents = true;
  bool lowers = true;
};
void appendBertNormalizer(const BertRules &rules, TokenizerBlob &blob);
void appendBertPreTokenizer(TokenizerBlob &blob);
void appendWordPieceDecoder(const std::string &prefix, bool cleansUp,
                            TokenizerBlob &blob);

/// A part by its type.
template <typename Reader> struct TokenizerPart {
  llvm::StringLiteral type;
  llvm::Error (*read)(JsonObject &part, Reader &reader);
};

/// Reads the part that `value` describes with the one of `parts` that has its
/// type, to its last field.
template <typename Reader>
llvm::Error readTokenizerPart(const JsonValue &value,
                              llvm::ArrayRef<TokenizerPart<Reader>> parts,
                              Reader &reader) {
  llvm::Expected<JsonObject> part = JsonObject::open(value);
  if (!part)
    return part.takeError();
  llvm::Expected<JsonValue> type = part->get("type");
  if (!type)
    return type.takeError();
  std::string names;
  for (const TokenizerPart<Reader> &known : parts) {
    names += (names.empty() ? "\"" : ", \"") + known.type.str() + "\"";
    if (!type->json->is_string() || *type->json != known.type.str())
      continue;
    if (llvm::Error error = known.read(*part, reader))
      return error;
    return part->finish();
  }
  return type->expects("one of " + names);
}

/// Reads the parts of a "Sequence", which are in the field `key`, one by one.
template <typename Reader, typename Read>
llvm::Error readSequence(JsonObject &part, llvm::StringRef key, Reader &reader,
                         Read read) {
  llvm::Expected<JsonValue> list = part.get(key);
  if (!list)
    return list.takeError();
  auto elements = list->getElements();
  if (!elements)
    return elements.takeError();
  for (const JsonValue &element : *elements)
    if (llvm::Error error = read(element, reader))
      return error;
  return llvm::Error::success();
}

} // namespace mlir::tfm

#endif // TFM_IMPORT_TOKENIZERSTEPS_H
