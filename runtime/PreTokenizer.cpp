//===- PreTokenizer.cpp - Cutting text into words -------------------------===//
//
// The patterns are run by PCRE2, compiled to machine code where it can.
//
//===----------------------------------------------------------------------===//

#define PCRE2_CODE_UNIT_WIDTH 8

#include "runtime/PreTokenizer.h"
#include "runtime/Utf8.h"
#include "runtime/include/tfm_tokenizer_format.h"

#include <algorithm>
#include <pcre2.h>

using namespace tfm;

// White space is Unicode's property White_Space, spelt out because PCRE2's \s
// differs from it.
#define SPACES R"(\t-\r\x{85}\p{Z})"

// What all patterns end with. A run of white space leaves its last character to
// the word behind it.
#define SPACE_RUNS "|[" SPACES "]+(?![^" SPACES "])|[" SPACES "]+"

// What the patterns of Llama 3 and Qwen2 have in common; `NUMBER` is a word of
// digits.
#define NEWLINE_AWARE(NUMBER)                                                  \
  "(?i:'[sdmt]|'ll|'ve|'re)"                                                   \
  "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"                                             \
  "|" NUMBER "| ?[^" SPACES "\\p{L}\\p{N}]+[\\r\\n]*"                          \
  "|[" SPACES "]*[\\r\\n]+" SPACE_RUNS

namespace {
struct Kind {
  tfm_pre_tokenizer number;
  const char *name;    ///< GGUF's
  const char *pattern; ///< of one word; some alternative matches any text
  bool normalizes;
  bool keepsWholeWords;
};
} // namespace

static constexpr Kind kinds[] = {
    // GPT-2's pattern on what is between digits, so that its alternative
    // ` ?\p{N}+` never matches, and white space before a digit is at the end.
    {TFM_PRE_TOKENIZER_SMOLLM, "smollm",
     "'(?:[stmd]|re|ve|ll)| ?\\p{L}+|\\p{N}| ?[^" SPACES "\\p{L}\\p{N}]+"
     "|[" SPACES "]+(?![^" SPACES "\\p{N}])|[" SPACES "]+",
     false, false},
    // "Language Models are Unsupervised Multitask Learners", 2019; encoder.py
    // of its release.
    {TFM_PRE_TOKENIZER_GPT2, "gpt-2",
     "'(?:[stmd]|re|ve|ll)| ?\\p{L}+| ?\\p{N}+| ?[^" SPACES
     "\\p{L}\\p{N}]+" SPACE_RUNS,
     false, false},
    // "The Llama 3 Herd of Models", 2024; tokenizer.json of its release.
    {TFM_PRE_TOKENIZER_LLAMA_BPE, "llama-bpe", NEWLINE_AWARE("\\p{N}{1,3}"),
     false, true},
    // "Qwen2 Technical Report", 2024; tokenizer.json of its release.
    {TFM_PRE_TOKENIZER_QWEN2, "qwen2", NEWLINE_AWARE("\\p{N}"), true, false},
};
#undef NEWLINE_AWARE
#undef SPACE_RUNS
#undef SPACES

void PreTokenizer::Deleter::operator()(pcre2_real_code_8 *code) const {
  pcre2_code_free(code);
}

static std::string describeError(int code) {
  PCRE2_UCHAR text[128];
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char *>(text);
}

Error PreTokenizer::create(uint32_t number) {
  const Kind *kind =
      std::find_if(std::begin(kinds), std::end(kinds),
                   [&](const Kind &kind) { return kind.number == number; });
  if (kind == std::end(kinds)) {
    std::string known;
    for (const Kind &kind : kinds)
      known += (known.empty() ? "" : ", ") + std::to_string(kind.number) +
               " (" + kind.name + ")";
    return "expects a pre-tokenizer of kind " + known + ", but got kind " +
           std::to_string(number);
  }

  int code;
  size_t offset;
  pattern.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kind->pattern),
                              PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_ANCHORED,
                              &code, &offset, nullptr));
  if (!pattern)
    return "cannot compile the pre-tokenizer's pattern: " + describeError(code);
  // Where the system forbids generated code, the pattern is interpreted.
  pcre2_jit_compile(pattern.get(), PCRE2_JIT_COMPLETE);
  needsNfc = kind->normalizes;
  wholeWords = kind->keepsWholeWords;
  return {};
}

namespace {

/// Applies a pattern again and again to one text, each time where the last
/// match ended.
class Matcher {
public:
  explicit Matcher(const pcre2_code *pattern) : pattern(pattern) {
    pcre2_set_match_limit(context.get(), UINT32_MAX);
    pcre2_set_depth_limit(context.get(), UINT32_MAX);
    pcre2_set_heap_limit(context.get(), UINT32_MAX);
  }

  /// `text` is UTF-8.
  template <typename Visit> Error forEach(std::string_view text, Visit visit) {
    while (!text.empty()) {
      int result = pcre2_match(
          pattern, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0,
          PCRE2_NO_UTF_CHECK, matched.get(), context.get());
      if (result <= 0)
        return "cannot cut the text into words: " + describeError(result);
      size_t end = pcre2_get_ovector_pointer(matched.get())[1];
      visit(text.substr(0, end));
      text.remove_prefix(end);
    }
    return {};
  }

private:
  struct Deleter {
    void operator()(pcre2_match_context *p) { pcre2_match_context_free(p); }
    void operator()(pcre2_match_data *p) { pcre2_match_data_free(p); }
  };

  const pcre2_code *pattern;
  std::unique_ptr<pcre2_match_context, Deleter> context{
      pcre2_match_context_create(nullptr)};
  std::unique_ptr<pcre2_match_data, Deleter> matched{
      pcre2_match_data_create(1, nullptr)};
};

} // namespace

Error PreTokenizer::split(std::string_view text,
                          std::vector<std::string_view> &words) const {
  Matcher matcher(pattern.get());
  auto measure = [](std::string_view rest, bool valid) {
    size_t bytes = 0;
    while (bytes < rest.size()) {
      Character next = decodeCharacter(rest.substr(bytes));
      if ((next.kind == Character::Valid) != valid)
        break;
      bytes += valid ? next.bytes : 1;
    }
    return bytes;
  };
  while (!text.empty()) {
    size_t valid = measure(text, true);
    if (Error error = matcher.forEach(
            text.substr(0, valid), [&](auto word) { words.push_back(word); }))
      return error;
    text.remove_prefix(valid);
    if (size_t invalid = measure(text, false)) {
      words.push_back(text.substr(0, invalid));
      text.remove_prefix(invalid);
    }
  }
  return {};
}
