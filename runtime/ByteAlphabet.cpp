//===- ByteAlphabet.cpp - Bytes as printable characters -------------------===//
//
// See ByteAlphabet.h.
//
//===----------------------------------------------------------------------===//

#include "runtime/ByteAlphabet.h"
#include "runtime/Utf8.h"

#include <array>
#include <charconv>
#include <cstdint>

using namespace tfm;

static constexpr bool isPrintable(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

/// The character of each byte.
static constexpr std::array<char32_t, 256> letters = [] {
  std::array<char32_t, 256> letters;
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte)
    letters[byte] = isPrintable(byte) ? static_cast<char32_t>(byte) : next++;
  return letters;
}();

/// The byte that a character of the alphabet stands for, or -1.
static int byteOf(char32_t code) {
  constexpr size_t alphabetEnd = 0x144;
  static constexpr std::array<int16_t, alphabetEnd> bytes = [] {
    std::array<int16_t, alphabetEnd> bytes;
    bytes.fill(-1);
    for (int16_t byte = 0; byte < 256; ++byte)
      bytes[letters[byte]] = byte;
    return bytes;
  }();
  return code < alphabetEnd ? bytes[code] : -1;
}

std::string tfm::spellBytes(std::string_view bytes) {
  std::string text;
  for (unsigned char byte : bytes)
    appendCharacter(letters[byte], text);
  return text;
}

std::string tfm::readBytes(std::string_view text) {
  std::string bytes;
  for (std::string_view rest = text; !rest.empty();) {
    Character next = decodeCharacter(rest);
    int byte = next.kind == Character::Valid ? byteOf(next.code) : -1;
    if (byte < 0)
      return std::string(text);
    bytes += static_cast<char>(byte);
    rest.remove_prefix(next.bytes);
  }
  return bytes;
}

int tfm::readByteToken(std::string_view token) {
  unsigned byte = 0;
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>')
    return -1;
  auto [end, error] =
      std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
  return error == std::errc() && end == token.data() + 5
             ? static_cast<int>(byte)
             : -1;
}
