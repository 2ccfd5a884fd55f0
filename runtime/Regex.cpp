//===- Regex.cpp - Regular expressions on UTF-8 ---------------------------===//
//
// See Regex.h.
//
//===----------------------------------------------------------------------===//

#define PCRE2_CODE_UNIT_WIDTH 8

#include "runtime/Regex.h"
#include "runtime/Utf8.h"

#include <pcre2.h>
#include <string>

using namespace tfm;

/// Only patterns that try the same again and again take as many steps, some
/// tenths of a second, whatever the length of the text.
static constexpr uint32_t matchLimit = 1u << 24;

/// KiB, for what machine code has no room for.
static constexpr uint32_t heapLimit = 1u << 20;

void Regex::Deleter::operator()(pcre2_real_code_8 *code) const {
  pcre2_code_free(code);
}
void Matcher::Deleter::operator()(pcre2_real_match_data_8 *data) const {
  pcre2_match_data_free(data);
}
void Matcher::Deleter::operator()(pcre2_real_match_context_8 *context) const {
  pcre2_match_context_free(context);
}

static std::string describeError(int code) {
  PCRE2_UCHAR text[128];
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char *>(text);
}

Error Regex::create(std::string_view pattern) {
  int error;
  size_t offset;
  code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()),
                           pattern.size(), PCRE2_UTF, &error, &offset,
                           nullptr));
  if (!code)
    return "cannot compile the tokenizer's pattern '" + std::string(pattern) +
           "' at byte " + std::to_string(offset) + ": " + describeError(error);
  // Where the system forbids generated code, the pattern is interpreted.
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  return {};
}

Matcher::Matcher()
    : context(pcre2_match_context_create(nullptr)),
      data(pcre2_match_data_create(1, nullptr)) {
  pcre2_set_match_limit(context.get(), matchLimit);
  pcre2_set_depth_limit(context.get(), UINT32_MAX);
  pcre2_set_heap_limit(context.get(), heapLimit);
}

Error Matcher::findAll(const Regex &regex, std::string_view text) {
  found.clear();
  size_t start = 0;
  auto match = [&](uint32_t options) {
    return pcre2_match(regex.code.get(),
                       reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                       start, PCRE2_NO_UTF_CHECK | options, data.get(),
                       context.get());
  };
  while (start <= text.size()) {
    int result = match(0);
    // Machine code has a small stack, the interpreter the heap.
    if (result == PCRE2_ERROR_JIT_STACKLIMIT)
      result = match(PCRE2_NO_JIT);
    if (result == PCRE2_ERROR_NOMATCH)
      break;
    if (result <= 0)
      return "cannot cut the text into words: " + describeError(result);
    const size_t *bounds = pcre2_get_ovector_pointer(data.get());
    found.push_back({bounds[0], bounds[1]});
    start = bounds[1];
    if (bounds[0] < bounds[1])
      continue;
    // Behind an empty match the search goes on with the next character.
    if (start == text.size())
      break;
    start += decodeCharacter(text.substr(start)).bytes;
  }
  return {};
}
