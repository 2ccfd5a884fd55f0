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

size_t tfm::countTruncatedBytes(std::string_view text) {
  for (size_t bytes = 1; bytes <= std::min<size_t>(3, text.size()); ++bytes)
    if (decodeCharacter(text.substr(text.size() - bytes)).kind ==
        Character::Truncated)
      return bytes;
  return 0;
}
