//===- PreTokenizer.cpp - Cutting text into words -------------------------===//
//
// The patterns are run by PCRE2, compiled to machine code where it can.
//
//===----------------------------------------------------------------------===//

#define PCRE2_CODE_UNIT_WIDTH 8

#include "runtime/PreTokenizer.h"
#include "runtime/Utf8.h"
#include "runtime/include/tfm_tokenizer_format.h"

#include <pcre2.h>

using namespace tfm;

// Each digit is a word, so the second pattern sees none and GPT-2's alternative
// ` ?\p{N}+` is left out.
static constexpr const char digitPattern[] = R"(\p{N}|\P{N}+)";

// GPT-2's pattern ("Language Models are Unsupervised Multitask Learners", 2019;
// encoder.py of its release). White space is Unicode's property White_Space,
// spelt out because PCRE2's \s differs from it.
#define SPACES R"(\t-\r\x{85}\p{Z})"
static constexpr const char wordPattern[] = "'(?:[stmd]|re|ve|ll)"
                                            "| ?\\p{L}+"
                                            "| ?[^" SPACES "\\p{L}]+"
                                            "|[" SPACES "]+(?![^" SPACES "])"
                                            "|[" SPACES "]+";
#undef SPACES

void PreTokenizer::Deleter::operator()(pcre2_real_code_8 *code) const {
  pcre2_code_free(code);
}

static std::string describeError(int code) {
  PCRE2_UCHAR text[128];
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char *>(text);
}

Error PreTokenizer::compile(const char *text, Pattern &pattern) {
  int code;
  size_t offset;
  pattern.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text),
                              PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_ANCHORED,
                              &code, &offset, nullptr));
  if (!pattern)
    return "cannot compile the pre-tokenizer's pattern: " + describeError(code);
  // Where the system forbids generated code, the pattern is interpreted.
  pcre2_jit_compile(pattern.get(), PCRE2_JIT_COMPLETE);
  return {};
}

Error PreTokenizer::create(uint32_t kind) {
  if (kind != TFM_PRE_TOKENIZER_SMOLLM)
    return "expects a pre-tokenizer of kind 1 (smollm), but got kind " +
           std::to_string(kind);
  if (Error error = compile(digitPattern, digits))
    return error;
  return compile(wordPattern, words);
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

  template <typename Visit> Error forEach(std::string_view text, Visit visit) {
    while (!text.empty()) {
      int result = match(text, PCRE2_NO_UTF_CHECK);
      if (result == PCRE2_ERROR_JIT_STACKLIMIT)
        result = match(text, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT);
      if (result <= 0)
        return "cannot cut the text into words: " + describeError(result);
      size_t end = pcre2_get_ovector_pointer(matched.get())[1];
      if (Error error = visit(text.substr(0, end)))
        return error;
      text.remove_prefix(end);
    }
    return {};
  }

private:
  struct Deleter {
    void operator()(pcre2_match_context *p) { pcre2_match_context_free(p); }
    void operator()(pcre2_match_data *p) { pcre2_match_data_free(p); }
  };

  int match(std::string_view text, uint32_t options) {
    return pcre2_match(pattern, reinterpret_cast<PCRE2_SPTR>(text.data()),
                       text.size(), 0, options, matched.get(), context.get());
  }

  const pcre2_code *pattern;
  std::unique_ptr<pcre2_match_context, Deleter> context{
      pcre2_match_context_create(nullptr)};
  std::unique_ptr<pcre2_match_data, Deleter> matched{
      pcre2_match_data_create(1, nullptr)};
};

} // namespace

Error PreTokenizer::splitValid(std::string_view text,
                               std::vector<std::string_view> &result) const {
  Matcher pieces(digits.get()), matcher(words.get());
  auto append = [&](std::string_view word) {
    result.push_back(word);
    return Error();
  };
  // A piece is the whole text to the second pattern: white space before a
  // digit is white space at the end.
  return pieces.forEach(text, [&](std::string_view piece) {
    return matcher.forEach(piece, append);
  });
}

Error PreTokenizer::split(std::string_view text,
                          std::vector<std::string_view> &result) const {
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
    if (Error error = splitValid(text.substr(0, valid), result))
      return error;
    text.remove_prefix(valid);
    if (size_t invalid = measure(text, false)) {
      result.push_back(text.substr(0, invalid));
      text.remove_prefix(invalid);
    }
  }
  return {};
}
