//===- AddedTokens.cpp - Tokens found in text whole -----------------------===//
//
// See AddedTokens.h.
//
//===----------------------------------------------------------------------===//

#include "runtime/AddedTokens.h"
#include "runtime/Utf8.h"
#include "runtime/include/tfm_tokenizer_format.h"

#include <utf8proc.h>

using namespace tfm;

/// Unicode's property White_Space.
static bool isSpace(const Character &character) {
  if (character.kind != Character::Valid)
    return false;
  char32_t code = character.code;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
  case UTF8PROC_CATEGORY_ZS:
  case UTF8PROC_CATEGORY_ZL:
  case UTF8PROC_CATEGORY_ZP:
    return true;
  default:
    return (code >= '\t' && code <= '\r') || code == 0x85;
  }
}

/// Whether a character is a part of words: "\w" of Unicode Technical Standard
/// #18, annex C.
static bool isWordPart(const Character &character) {
  if (character.kind != Character::Valid)
    return false;
  auto isIn = [&](char32_t first, char32_t last) {
    return character.code >= first && character.code <= last;
  };
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(character.code))) {
  case UTF8PROC_CATEGORY_LU:
  case UTF8PROC_CATEGORY_LL:
  case UTF8PROC_CATEGORY_LT:
  case UTF8PROC_CATEGORY_LM:
  case UTF8PROC_CATEGORY_LO:
  case UTF8PROC_CATEGORY_MN:
  case UTF8PROC_CATEGORY_MC:
  case UTF8PROC_CATEGORY_ME:
  case UTF8PROC_CATEGORY_ND:
  case UTF8PROC_CATEGORY_NL:
  case UTF8PROC_CATEGORY_PC:
    return true;
  case UTF8PROC_CATEGORY_SO: // letters in circles and squares
    return isIn(0x24B6, 0x24E9) || isIn(0x1F130, 0x1F149) ||
           isIn(0x1F150, 0x1F169) || isIn(0x1F170, 0x1F189);
  default:
    return isIn(0x200C, 0x200D); // joiners
  }
}

/// The character that `text`, which is not empty, ends with.
static Character decodeLast(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && text.size() - begin < 4 &&
         (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80)
    --begin;
  Character last = decodeCharacter(text.substr(begin));
  if (last.kind == Character::Valid && begin + last.bytes != text.size())
    last.kind = Character::Invalid;
  return last;
}

void AddedTokens::add(std::string_view text, int32_t id) {
  if (text.empty())
    return;
  tokens.append(text, id);
  begins[static_cast<unsigned char>(text[0])] = true;
}

/// The first token that begins at `from` or later.
AddedTokens::Found AddedTokens::findNext(std::string_view text,
                                         size_t from) const {
  for (size_t begin = from; begin < text.size(); ++begin) {
    if (!begins[static_cast<unsigned char>(text[begin])])
      continue;
    Found found = {begin, begin, -1};
    tokens.forEachPrefix(text.substr(begin), [&](size_t bytes, int32_t id) {
      found = {begin, begin + bytes, id};
    });
    if (found.id >= 0)
      return found;
  }
  return {text.size(), text.size(), -1};
}

std::vector<AddedTokens::Part> AddedTokens::find(std::string_view text) const {
  std::vector<Part> parts;
  auto add = [&](size_t begin, size_t end, int32_t id) {
    if (begin < end)
      parts.push_back({text.substr(begin, end - begin), id});
  };
  size_t done = 0, from = 0;
  while (from < text.size()) {
    auto [begin, end, id] = findNext(text, from);
    from = end;
    if (id < 0)
      break;
    if (has(id, TFM_TOKEN_SINGLE_WORD) &&
        ((begin > 0 && isWordPart(decodeLast(text.substr(0, begin)))) ||
         (end < text.size() && isWordPart(decodeCharacter(text.substr(end))))))
      continue;
    if (has(id, TFM_TOKEN_LSTRIP))
      while (begin > done) {
        Character last = decodeLast(text.substr(0, begin));
        if (!isSpace(last))
          break;
        begin -= last.bytes;
      }
    if (has(id, TFM_TOKEN_RSTRIP))
      while (end < text.size()) {
        Character next = decodeCharacter(text.substr(end));
        if (!isSpace(next))
          break;
        end += next.bytes;
      }
    add(done, begin, -1);
    add(begin, end, id);
    done = from = end;
  }
  add(done, text.size(), -1);
  return parts;
}
