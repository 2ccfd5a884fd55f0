//===- ByteAlphabet.h - Bytes as printable characters -----------*- C++ -*-===//
//
// A vocabulary is text, so byte-level tokenizers write each byte as a printable
// character: as itself where Latin-1 prints it, else as U+0100 and on, in order
// of the bytes (bytes_to_unicode in GPT-2's encoder.py).
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_BYTEALPHABET_H
#define TFM_RUNTIME_BYTEALPHABET_H

#include <string>
#include <string_view>

namespace tfm {

/// Each byte's character.
std::string spellBytes(std::string_view bytes);

/// The bytes that `text` spells, or `text` if one of its characters is not in
/// the alphabet.
std::string readBytes(std::string_view text);

/// The byte that a token "<0x0A>" stands for, or -1.
int readByteToken(std::string_view token);

} // namespace tfm

#endif // TFM_RUNTIME_BYTEALPHABET_H
