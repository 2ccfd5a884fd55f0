//===- NormalForm.h - Unicode's normal forms, and lower case ----*- C++ -*-===//
//
// One spelling for texts that look the same: "é" as one character or as "e" and
// an accent (Unicode Standard Annex #15).
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_NORMALFORM_H
#define TFM_RUNTIME_NORMALFORM_H

#include "runtime/include/tfm_tokenizer_format.h"

#include <string>
#include <string_view>

namespace tfm {

/// `text` in a normal form. Bytes that are not UTF-8 stay as they are, and
/// nothing composes over them. Takes O(n log n), whatever the text.
std::string toNormalForm(std::string_view text, tfm_normal_form form);

/// `text` with each character in lower case, whatever stands beside it. Bytes
/// that are not UTF-8 stay as they are.
std::string toLowerCase(std::string_view text);

} // namespace tfm

#endif // TFM_RUNTIME_NORMALFORM_H
