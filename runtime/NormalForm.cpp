//===- NormalForm.cpp - Unicode's normal forms, and lower case ------------===//
//
// utf8proc knows the characters. Its own functions for whole texts sort
// combining marks in quadratic time, so marks are sorted here.
//
//===----------------------------------------------------------------------===//

#include "runtime/NormalForm.h"
#include "runtime/Utf8.h"

#include <algorithm>
#include <compare>
#include <utf8proc.h>
#include <vector>

using namespace tfm;

static utf8proc_option_t getOptions(tfm_normal_form form) {
  int options = UTF8PROC_STABLE;
  if (form == TFM_NORMAL_FORM_C || form == TFM_NORMAL_FORM_KC)
    options |= UTF8PROC_COMPOSE;
  else
    options |= UTF8PROC_DECOMPOSE;
  if (form == TFM_NORMAL_FORM_KC || form == TFM_NORMAL_FORM_KD)
    options |= UTF8PROC_COMPAT;
  return static_cast<utf8proc_option_t>(options);
}

/// Appends the decomposition of one character.
static void decompose(char32_t code, utf8proc_option_t options,
                      std::vector<utf8proc_int32_t> &codes) {
  constexpr size_t maxParts = 18; // of U+FDFA in form KD
  size_t begin = codes.size();
  codes.resize(begin + maxParts);
  int boundClass = 0; // of graphemes, which are not asked for
  utf8proc_ssize_t parts =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code),
                              &codes[begin], maxParts, options, &boundClass);
  codes.resize(begin + static_cast<size_t>(parts));
}

/// Puts each run of combining marks in its canonical order: by their class,
/// equal ones as they stand.
static void sortMarks(std::vector<utf8proc_int32_t> &codes) {
  struct Mark {
    int combiningClass;
    size_t place;
    utf8proc_int32_t code;
    auto operator<=>(const Mark &) const = default;
  };
  std::vector<Mark> marks;
  for (size_t end = 0; end <= codes.size(); ++end) {
    int combiningClass =
        end < codes.size() ? utf8proc_get_property(codes[end])->combining_class
                           : 0;
    if (combiningClass != 0) {
      marks.push_back({combiningClass, end, codes[end]});
      continue;
    }
    std::sort(marks.begin(), marks.end());
    for (size_t begin = end - marks.size(); const Mark &mark : marks)
      codes[begin++] = mark.code;
    marks.clear();
  }
}

/// Appends decomposed characters to `text`, composed if `options` say so, and
/// clears them.
static void flush(std::vector<utf8proc_int32_t> &codes,
                  utf8proc_option_t options, std::string &text) {
  sortMarks(codes);
  auto count = static_cast<utf8proc_ssize_t>(codes.size());
  codes.push_back(0); // room for the terminator
  utf8proc_ssize_t bytes = utf8proc_reencode(codes.data(), count, options);
  text.append(reinterpret_cast<const char *>(codes.data()),
              static_cast<size_t>(bytes));
  codes.clear();
}

std::string tfm::toNormalForm(std::string_view text, tfm_normal_form form) {
  // A vowel that composes with nothing before it. utf8proc 2.8 takes it for the
  // final consonant of a Hangul syllable that has none, and drops it.
  constexpr char32_t dropped = 0x11A7;
  utf8proc_option_t options = getOptions(form);
  std::string result;
  std::vector<utf8proc_int32_t> codes;
  while (!text.empty()) {
    Character next = decodeCharacter(text);
    bool isValid = next.kind == Character::Valid;
    if (!isValid || next.code == dropped)
      flush(codes, options, result);
    if (isValid)
      decompose(next.code, options, codes);
    else
      result += text[0];
    text.remove_prefix(isValid ? next.bytes : 1);
  }
  flush(codes, options, result);
  return result;
}

std::string tfm::toLowerCase(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    Character next = decodeCharacter(text);
    bool isValid = next.kind == Character::Valid;
    size_t bytes = isValid ? next.bytes : 1;
    auto code = static_cast<utf8proc_int32_t>(next.code);
    // The one character whose lower case is two (SpecialCasing.txt).
    if (isValid && code == 0x130)
      result += "i\u0307";
    else if (isValid && utf8proc_tolower(code) != code)
      appendCharacter(static_cast<char32_t>(utf8proc_tolower(code)), result);
    else
      result += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return result;
}
