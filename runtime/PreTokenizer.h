//===- PreTokenizer.h - Cutting text into words -----------------*- C++ -*-===//
//
// Merges of byte-level BPE stay within words. What a word is, is part of the
// vocabulary's definition and stated as regular expressions.
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

  /// Appends the words of `text` to `words`, in order and without gaps. Every
  /// maximal run of bytes that is not UTF-8 is one word. May be called by
  /// several threads.
  Error split(std::string_view text,
              std::vector<std::string_view> &words) const;

private:
  struct Deleter {
    void operator()(pcre2_real_code_8 *code) const;
  };
  using Pattern = std::unique_ptr<pcre2_real_code_8, Deleter>;

  static Error compile(const char *text, Pattern &pattern);
  Error splitValid(std::string_view text,
                   std::vector<std::string_view> &words) const;

  Pattern digits; ///< one digit, or all up to the next
  Pattern words;  ///< within what has no digits
};

} // namespace tfm

#endif // TFM_RUNTIME_PRETOKENIZER_H
