//===- TokenizerRegex.h - Patterns of tokenizers ----------------*- C++ -*-===//
//
// Tokenizers state patterns for Oniguruma; executables have PCRE2.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_IMPORT_TOKENIZERREGEX_H
#define TFM_IMPORT_TOKENIZERREGEX_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace mlir::tfm {

/// White space, Unicode's property White_Space, as a part of a PCRE2 class: its
/// own \s has U+180E, too.
inline constexpr char kSpaces[] = R"(\t-\r\x{85}\p{Z})";

/// What Oniguruma's \w has and Unicode's rules for it as well: letters, marks,
/// decimal digits, connectors, and symbols that are letters.
inline constexpr char kWordParts[] =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149})"
    R"(\x{1F150}-\x{1F169}\x{1F170}-\x{1F189})";

/// GPT-2's words, for Oniguruma ("Language Models are Unsupervised Multitask
/// Learners", 2019; encoder.py of its release).
inline constexpr llvm::StringLiteral kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+)"
    R"(|\s+(?!\S)|\s+)";

/// A PCRE2 pattern that matches what `pattern` matches in Oniguruma with Ruby's
/// syntax, on UTF-8. Fails on what the two understand differently and cannot be
/// said in both, and on what is no pattern.
llvm::Expected<std::string> translatePattern(llvm::StringRef pattern);

/// A pattern of `text` itself.
std::string quotePattern(llvm::StringRef text);

} // namespace mlir::tfm

#endif // TFM_IMPORT_TOKENIZERREGEX_H
