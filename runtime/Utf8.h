//===- Utf8.h - Finding character boundaries --------------------*- C++ -*-===//
//
// UTF-8 as in RFC 3629: no overlong forms, no surrogates, at most U+10FFFF.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_UTF8_H
#define TFM_RUNTIME_UTF8_H

#include <cstddef>
#include <string>
#include <string_view>

namespace tfm {

/// The character at the start of a text.
struct Character {
  enum Kind {
    Valid,
    Invalid,   ///< no valid text starts like this
    Truncated, ///< more bytes could make it valid
  };
  Kind kind;
  size_t bytes; ///< of a valid character, 1 to 4
  char32_t code;
};

/// `text` is not empty.
Character decodeCharacter(std::string_view text);

/// Appends a character, which is valid.
void appendCharacter(char32_t code, std::string &text);

/// The bytes that `text` starts with and that are all UTF-8, or all not: as
/// many as there are.
size_t countValidBytes(std::string_view text, bool valid);

/// The bytes at the end of `text`, at most 3, that are the beginning of a
/// character.
size_t countTruncatedBytes(std::string_view text);

} // namespace tfm

#endif // TFM_RUNTIME_UTF8_H
