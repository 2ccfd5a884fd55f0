//===- Nfc.h - Unicode's normal form C --------------------------*- C++ -*-===//
//
// One spelling for texts that look the same: "é" as one character, not as "e"
// and an accent (Unicode Standard Annex #15).
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_NFC_H
#define TFM_RUNTIME_NFC_H

#include <string>
#include <string_view>

namespace tfm {

/// `text` in normal form C. Bytes that are not UTF-8 stay as they are, and
/// nothing composes over them. Takes O(n log n), whatever the text.
std::string toNfc(std::string_view text);

} // namespace tfm

#endif // TFM_RUNTIME_NFC_H
