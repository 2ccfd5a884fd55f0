//===- Utf8.cpp - Finding character boundaries ----------------------------===//
//
// See Utf8.h.
//
//===----------------------------------------------------------------------===//

#include "runtime/Utf8.h"

#include <algorithm>

using namespace tfm;

Character tfm::decodeCharacter(std::string_view text) {
  auto byteAt = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char lead = byteAt(0);
  if (lead < 0x80)
    return {Character::Valid, 1, lead};
  if (lead < 0xC2 || lead > 0xF4)
    return {Character::Invalid, 0, 0};
  size_t bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t code = lead & (0x7F >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if (i == text.size())
      return {Character::Truncated, 0, 0};
    // The second byte's range excludes overlong forms, surrogates and what is
    // past U+10FFFF (RFC 3629, section 4).
    unsigned char low = 0x80, high = 0xBF;
    if (i == 1) {
      low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : low;
      high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : high;
    }
    if (byteAt(i) < low || byteAt(i) > high)
      return {Character::Invalid, 0, 0};
    code = code << 6 | (byteAt(i) & 0x3F);
  }
  return {Character::Valid, bytes, code};
}

void tfm::appendCharacter(char32_t code, std::string &text) {
  int bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  if (bytes == 1) {
    text += static_cast<char>(code);
    return;
  }
  int shift = 6 * (bytes - 1);
  text += static_cast<char>((0xF00 >> bytes & 0xFF) | code >> shift);
  while (shift != 0) {
    shift -= 6;
    text += static_cast<char>(0x80 | (code >> shift & 0x3F));
  }
}

size_t tfm::countValidBytes(std::string_view text, bool valid) {
  size_t bytes = 0;
  while (bytes < text.size()) {
    Character next = decodeCharacter(text.substr(bytes));
    if ((next.kind == Character::Valid) != valid)
      break;
    bytes += valid ? next.bytes : 1;
  }
  return bytes;
}

size_t tfm::countTruncatedBytes(std::string_view text) {
  for (size_t bytes = 1; bytes <= std::min<size_t>(3, text.size()); ++bytes)
    if (decodeCharacter(text.substr(text.size() - bytes)).kind ==
        Character::Truncated)
      return bytes;
  return 0;
}
