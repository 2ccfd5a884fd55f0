//===- TokenizerRegex.cpp - Patterns of tokenizers ------------------------===//
//
// See TokenizerRegex.h. Oniguruma's syntax is in its doc/RE.
//
//===----------------------------------------------------------------------===//

#define PCRE2_CODE_UNIT_WIDTH 8

#include "import/TokenizerRegex.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include <pcre2.h>

using namespace mlir::tfm;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

/// Six fractions and superscripts that Oniguruma takes for word characters.
static constexpr char kOddDigits[] = R"(\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})";

namespace {

class Translator {
public:
  explicit Translator(StringRef pattern) : pattern(pattern), rest(pattern) {}

  llvm::Expected<std::string> run() {
    while (!rest.empty())
      if (Error error = inClass ? translateInClass() : translateOutside())
        return std::move(error);
    return std::move(result);
  }

private:
  Error unsupported(const Twine &what) const {
    return llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        "expects a pattern without " + what + ", but got \"" + pattern +
            "\" at byte " + Twine(pattern.size() - rest.size()));
  }

  void copy(size_t bytes) {
    result += rest.take_front(bytes);
    rest = rest.drop_front(bytes);
  }

  Error translateOutside();
  Error translateInClass();
  Error translateEscape();
  Error translateGroup();

  StringRef pattern, rest;
  std::string result;
  bool inClass = false;
  bool wasCounted = false; ///< whether a {n,m} stands before
};

} // namespace

Error Translator::translateOutside() {
  bool followsCount = std::exchange(wasCounted, false);
  switch (rest[0]) {
  case '\\':
    return translateEscape();
  case '[':
    inClass = true;
    copy(rest.starts_with("[^") ? 2 : 1);
    // A bracket here is a character in one syntax, the end in the other.
    if (rest.starts_with("]"))
      return unsupported("an empty class");
    return Error::success();
  case '(':
    return translateGroup();
  // These stand for the bounds of lines in Ruby, of the text in Perl.
  case '^':
  case '$':
    result += "(?m:" + rest.take_front(1).str() + ")";
    rest = rest.drop_front();
    return Error::success();
  case '{':
    if (rest.size() < 2 || !llvm::isDigit(rest[1]))
      return unsupported("'{' but for counts");
    wasCounted = true;
    copy(std::min(rest.find('}'), rest.size() - 1) + 1);
    return Error::success();
  case '+':
    // Possessive in Perl, one more repetition in Ruby.
    if (followsCount)
      return unsupported("'+' behind a count");
    [[fallthrough]];
  default:
    copy(1);
    return Error::success();
  }
}

Error Translator::translateGroup() {
  for (StringRef kind : {"(?i:", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"})
    if (rest.starts_with(kind)) {
      copy(kind.size());
      return Error::success();
    }
  if (rest.starts_with("(?") || rest.starts_with("(*"))
    return unsupported("'" + rest.take_front(3) + "'");
  copy(1);
  return Error::success();
}

Error Translator::translateInClass() {
  switch (rest[0]) {
  case '\\':
    return translateEscape();
  case ']':
    inClass = false;
    break;
  case '[':
    return unsupported("a class in a class");
  case '&':
    if (rest.starts_with("&&"))
      return unsupported("an intersection of classes");
    break;
  default:
    break;
  }
  copy(1);
  return Error::success();
}

/// A backslash and what belongs to it, both in classes and outside.
Error Translator::translateEscape() {
  if (rest.size() < 2)
    return unsupported("'\\' at its end");
  char letter = rest[1];
  auto replace = [&](const Twine &by, size_t bytes = 2) -> Error {
    result += by.str();
    rest = rest.drop_front(bytes);
    return Error::success();
  };
  auto replaceByClass = [&](const Twine &members) -> Error {
    bool isNegated = llvm::isUpper(letter);
    if (!inClass)
      return replace((isNegated ? "[^" : "[") + members + "]");
    if (isNegated)
      return unsupported("'\\" + Twine(letter) + "' in a class");
    return replace(members);
  };
  switch (letter) {
  case 's':
  case 'S':
    return replaceByClass(kSpaces);
  case 'w':
  case 'W':
    return replaceByClass(Twine(kWordParts) + kOddDigits);
  case 'd':
    return replace("\\p{Nd}");
  case 'D':
    return replace("\\P{Nd}");
  case 'v':
    return replace("\\x{0B}");
  case 'u':
    if (rest.size() < 6 || !llvm::all_of(rest.slice(2, 6), llvm::isHexDigit))
      return unsupported("'\\u' without four digits");
    return replace("\\x{" + rest.slice(2, 6) + "}", 6);
  case 'p':
  case 'P':
    if (rest.size() < 3 || rest[2] != '{')
      return unsupported("a property without braces");
    copy(std::min(rest.find('}'), rest.size() - 1) + 1);
    return Error::success();
  case 'x':
  case 't':
  case 'n':
  case 'r':
  case 'f':
  case 'a':
  case 'e':
    copy(2);
    return Error::success();
  case 'A':
  case 'z':
    if (!inClass) {
      copy(2);
      return Error::success();
    }
    break;
  default:
    break;
  }
  if (llvm::isAlnum(letter))
    return unsupported("'\\" + Twine(letter) + "'");
  copy(2);
  return Error::success();
}

llvm::Expected<std::string> mlir::tfm::translatePattern(StringRef pattern) {
  llvm::Expected<std::string> translated = Translator(pattern).run();
  if (!translated)
    return translated;
  int code;
  size_t offset;
  pcre2_code *compiled =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated->data()),
                    translated->size(), PCRE2_UTF, &code, &offset, nullptr);
  if (compiled) {
    pcre2_code_free(compiled);
    return translated;
  }
  PCRE2_UCHAR message[128];
  pcre2_get_error_message(code, message, sizeof message);
  return llvm::createStringError(
      llvm::inconvertibleErrorCode(),
      "expects a pattern, but got \"" + pattern +
          "\": " + reinterpret_cast<const char *>(message));
}

std::string mlir::tfm::quotePattern(StringRef text) {
  std::string pattern;
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x80 && !llvm::isAlnum(c))
      pattern += '\\';
    pattern += c;
  }
  return pattern;
}
