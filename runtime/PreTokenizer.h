//===- PreTokenizer.h - Cutting text into words -----------------*- C++ -*-===//
//
// Merges of byte-level BPE stay within words. What a word is, is part of the
// vocabulary's definition and stated as a regular expression.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_PRETOKENIZER_H
#define TFM_RUNTIME_PRETOKENIZER_H

#include "runtime/Error.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;

namespace tfm {

class PreTokenizer {
public:
  /// `kind` is a `tfm_pre_tokenizer`; an unknown one is an error that names it.
  Error create(uint32_t kind);

  /// Whether text is to be brought to normal form C (Nfc.h) before it is split.
  bool needsNormalForm() const { return needsNfc; }

  /// Whether a word that is a token is that token, even if merges would not
  /// make it.
  bool keepsWholeWords() const { return wholeWords; }

  /// Appends the words of `text` to `words`, in order and without gaps. Every
  /// maximal run of bytes that is not UTF-8 is one word. May be called by
  /// several threads.
  Error split(std::string_view text,
              std::vector<std::string_view> &words) const;

private:
  struct Deleter {
    void operator()(pcre2_real_code_8 *code) const;
  };

  std::unique_ptr<pcre2_real_code_8, Deleter> pattern;
  bool needsNfc = false, wholeWords = false;
};

} // namespace tfm

#endif // TFM_RUNTIME_PRETOKENIZER_H
