//===- Regex.h - Regular expressions on UTF-8 -------------------*- C++ -*-===//
//
// What a tokenizer's definition states as a pattern, run by PCRE2 and compiled
// to machine code where the system allows it.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_REGEX_H
#define TFM_RUNTIME_REGEX_H

#include "runtime/Error.h"

#include <memory>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;

namespace tfm {

/// A pattern. May be used by several threads.
class Regex {
public:
  Error create(std::string_view pattern);

private:
  friend class Matcher;
  struct Deleter {
    void operator()(pcre2_real_code_8 *code) const;
  };
  std::unique_ptr<pcre2_real_code_8, Deleter> code;
};

/// Applies patterns to texts. Belongs to one thread.
class Matcher {
public:
  /// Bytes of a text.
  struct Match {
    size_t begin, end;
  };

  Matcher();

  /// The matches of `regex` in `text`, UTF-8, from left to right, each as far
  /// left as the last one allows; valid until the next call. Fails where
  /// matching takes more steps than any sensible pattern.
  Error findAll(const Regex &regex, std::string_view text);

  const std::vector<Match> &matches() const { return found; }

private:
  struct Deleter {
    void operator()(pcre2_real_match_data_8 *data) const;
    void operator()(pcre2_real_match_context_8 *context) const;
  };
  std::unique_ptr<pcre2_real_match_context_8, Deleter> context;
  std::unique_ptr<pcre2_real_match_data_8, Deleter> data;
  std::vector<Match> found;
};

} // namespace tfm

#endif // TFM_RUNTIME_REGEX_H
