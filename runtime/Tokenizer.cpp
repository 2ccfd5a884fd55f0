//===- Tokenizer.cpp - Byte-level BPE -------------------------------------===//
//
// See Tokenizer.h.
//
//===----------------------------------------------------------------------===//

#include "runtime/Tokenizer.h"
#include "runtime/Nfc.h"
#include "runtime/Utf8.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <queue>

using namespace tfm;

//===----------------------------------------------------------------------===//
// GPT-2's alphabet
//===----------------------------------------------------------------------===//

// A vocabulary is text, so each byte is written as a printable character: as
// itself where Latin-1 prints it, else as U+0100 and on, in order of the bytes
// (bytes_to_unicode in GPT-2's encoder.py).
static constexpr int alphabetEnd = 0x144;

static constexpr bool isPrintable(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

/// The character of each byte.
static constexpr std::array<int16_t, 256> letters = [] {
  std::array<int16_t, 256> letters;
  int16_t next = 0x100;
  for (int16_t byte = 0; byte < 256; ++byte)
    letters[byte] = isPrintable(byte) ? byte : next++;
  return letters;
}();

/// The byte that a character of the alphabet stands for, or -1.
static int byteOf(char32_t code) {
  static constexpr std::array<int16_t, alphabetEnd> bytes = [] {
    std::array<int16_t, alphabetEnd> bytes;
    bytes.fill(-1);
    for (int16_t byte = 0; byte < 256; ++byte)
      bytes[letters[byte]] = byte;
    return bytes;
  }();
  return code < alphabetEnd ? bytes[code] : -1;
}

/// Appends the character that stands for a byte, as UTF-8.
static void appendLetter(unsigned char byte, std::string &text) {
  int16_t code = letters[byte];
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  text += static_cast<char>(0xC0 | code >> 6);
  text += static_cast<char>(0x80 | (code & 0x3F));
}

//===----------------------------------------------------------------------===//
// Reading the blob
//===----------------------------------------------------------------------===//

static Error mismatch(const char *what, uint64_t expected, uint64_t found) {
  return std::string("expects the tokenizer's ") + what + " to be " +
         std::to_string(expected) + ", but got " + std::to_string(found);
}

std::string_view Tokenizer::spelling(uint32_t id) const {
  return {strings + offsets[id], offsets[id + 1] - offsets[id]};
}

Error Tokenizer::create(const void *blob, uint64_t bytes, int32_t vocabulary) {
  tfm_tokenizer_header header;
  if (reinterpret_cast<uintptr_t>(blob) % alignof(tfm_tokenizer_header) != 0)
    return std::string("expects the tokenizer at a multiple of 8 bytes");
  if (bytes < sizeof header)
    return "expects a tokenizer of at least " + std::to_string(sizeof header) +
           " bytes, but got " + std::to_string(bytes);
  std::memcpy(&header, blob, sizeof header);
  if (header.magic != TFM_TOKENIZER_MAGIC)
    return std::string("the tokenizer does not start with TFMTOKEN");
  if (header.version != TFM_TOKENIZER_VERSION)
    return mismatch("version", TFM_TOKENIZER_VERSION, header.version);
  if (header.token_count != static_cast<uint32_t>(vocabulary))
    return mismatch("number of tokens", static_cast<uint32_t>(vocabulary),
                    header.token_count);
  if (header.token_count > TFM_TOKENIZER_MAX_TOKENS ||
      header.merge_count > TFM_TOKENIZER_MAX_MERGES)
    return "the tokenizer has too many tokens (" +
           std::to_string(header.token_count) + ") or merges (" +
           std::to_string(header.merge_count) + ")";
  count = header.token_count;
  uint64_t size = sizeof header + (count + 1) * sizeof *offsets +
                  header.merge_count * sizeof *merges + count * sizeof *types +
                  header.string_bytes;
  if (bytes != size)
    return mismatch("size", size, bytes);

  offsets = reinterpret_cast<const uint32_t *>(static_cast<const char *>(blob) +
                                               sizeof header);
  merges = reinterpret_cast<const tfm_merge *>(offsets + count + 1);
  types = reinterpret_cast<const uint8_t *>(merges + header.merge_count);
  strings = reinterpret_cast<const char *>(types + count);

  for (uint32_t id = 0; id < count; ++id)
    if (offsets[id] > offsets[id + 1])
      return "the tokenizer's token " + std::to_string(id) +
             " ends before it starts";
  if (offsets[count] != header.string_bytes)
    return mismatch("string bytes", header.string_bytes, offsets[count]);

  if (Error error = preTokenizer.create(header.pre_tokenizer))
    return error;
  byteTokens.fill(-1);
  for (uint32_t id = 0; id < count; ++id) {
    if (types[id] < TFM_TOKEN_NORMAL || types[id] > TFM_TOKEN_BYTE)
      return "the tokenizer's token " + std::to_string(id) +
             " has the unknown type " + std::to_string(types[id]);
    std::string_view text = spelling(id);
    if (types[id] == TFM_TOKEN_NORMAL) {
      addByte(id);
      if (preTokenizer.keepsWholeWords())
        wholeWords.emplace(text, static_cast<int32_t>(id));
    } else if ((types[id] == TFM_TOKEN_CONTROL ||
                types[id] == TFM_TOKEN_USER_DEFINED) &&
               !text.empty() &&
               specials.emplace(text, static_cast<int32_t>(id)).second) {
      specialLengths[static_cast<unsigned char>(text[0])].push_back(
          text.size());
    }
  }
  for (std::vector<size_t> &lengths : specialLengths) {
    std::sort(lengths.begin(), lengths.end(), std::greater<>());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  }

  ranks.reserve(header.merge_count);
  for (uint32_t rank = 0; rank < header.merge_count; ++rank) {
    const tfm_merge &merge = merges[rank];
    if (std::max({merge.left, merge.right, merge.result}) >= count)
      return "the tokenizer's merge " + std::to_string(rank) +
             " names a token past the last";
    ranks.emplace(static_cast<uint64_t>(merge.left) << 32 | merge.right, rank);
  }
  return {};
}

/// Remembers `id` if it is the token of a single byte.
void Tokenizer::addByte(uint32_t id) {
  std::string_view text = spelling(id);
  if (text.empty())
    return;
  Character first = decodeCharacter(text);
  if (first.kind != Character::Valid || first.bytes != text.size())
    return;
  int byte = byteOf(first.code);
  if (byte >= 0 && byteTokens[byte] < 0)
    byteTokens[byte] = static_cast<int32_t>(id);
}

//===----------------------------------------------------------------------===//
// Text to tokens
//===----------------------------------------------------------------------===//

namespace {

/// Merges the tokens of one word. Tokens form a list; possible merges wait in
/// a heap and are dropped when a token in them has changed meanwhile. So a word
/// of n bytes takes O(n log n).
class Merger {
public:
  Merger(const std::unordered_map<uint64_t, uint32_t> &ranks,
         const tfm_merge *merges)
      : ranks(ranks), merges(merges) {}

  void start() { tokens.clear(); }

  void add(int32_t id) {
    int32_t place = static_cast<int32_t>(tokens.size());
    tokens.push_back({id, place - 1, place + 1});
  }

  void mergeInto(std::vector<int32_t> &ids) {
    if (tokens.empty())
      return;
    tokens.back().next = -1;
    for (size_t place = 0; place + 1 < tokens.size(); ++place)
      consider(static_cast<int32_t>(place));
    while (!candidates.empty()) {
      Candidate best = candidates.top();
      candidates.pop();
      Token &left = tokens[best.place];
      if (left.id < 0 || findRank(best.place) != best.rank)
        continue;
      Token &right = tokens[left.next];
      left.id = static_cast<int32_t>(merges[best.rank].result);
      left.next = right.next;
      right.id = -1;
      if (left.next >= 0)
        tokens[left.next].previous = best.place;
      consider(best.place);
      if (left.previous >= 0)
        consider(left.previous);
    }
    for (int32_t place = 0; place >= 0; place = tokens[place].next)
      ids.push_back(tokens[place].id);
  }

private:
  static constexpr uint32_t noRank = UINT32_MAX;

  struct Token {
    int32_t id; ///< -1: merged into the one before
    int32_t previous, next;
  };
  struct Candidate {
    uint32_t rank;
    int32_t place; ///< of the left token
    bool operator>(const Candidate &other) const {
      return rank != other.rank ? rank > other.rank : place > other.place;
    }
  };

  /// The rank of the merge of `place` with its successor.
  uint32_t findRank(int32_t place) const {
    const Token &left = tokens[place];
    if (left.next < 0)
      return noRank;
    auto found = ranks.find(static_cast<uint64_t>(left.id) << 32 |
                            static_cast<uint32_t>(tokens[left.next].id));
    return found == ranks.end() ? noRank : found->second;
  }

  void consider(int32_t place) {
    if (uint32_t rank = findRank(place); rank != noRank)
      candidates.push({rank, place});
  }

  const std::unordered_map<uint64_t, uint32_t> &ranks;
  const tfm_merge *merges;
  std::vector<Token> tokens;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>>
      candidates;
};

} // namespace

/// The length of the longest special token that `text` starts with, or 0.
size_t Tokenizer::matchSpecial(std::string_view text, int32_t &id) const {
  for (size_t length : specialLengths[static_cast<unsigned char>(text[0])]) {
    auto found = specials.find(text.substr(0, length));
    if (found != specials.end()) {
      id = found->second;
      return found->first.size();
    }
  }
  return 0;
}

/// The token that `word` is if the pre-tokenizer keeps whole words, or -1.
int32_t Tokenizer::findWhole(std::string_view word) const {
  if (wholeWords.empty())
    return -1;
  std::string spelled;
  for (unsigned char byte : word)
    appendLetter(byte, spelled);
  auto found = wholeWords.find(spelled);
  return found == wholeWords.end() ? -1 : found->second;
}

Error Tokenizer::encode(std::string_view text,
                        std::vector<int32_t> &ids) const {
  if (text.size() > INT32_MAX)
    return "expects a text of at most " + std::to_string(INT32_MAX) +
           " bytes, but got " + std::to_string(text.size());
  Merger merger(ranks, merges);
  std::vector<std::string_view> words;
  std::string normal;
  while (!text.empty()) {
    size_t plain = 0, special = 0;
    int32_t id = -1;
    while (plain < text.size() &&
           !(special = matchSpecial(text.substr(plain), id)))
      ++plain;

    std::string_view between = text.substr(0, plain);
    if (preTokenizer.needsNormalForm())
      between = normal = toNfc(between);
    words.clear();
    if (Error error = preTokenizer.split(between, words))
      return error;
    for (std::string_view word : words) {
      if (int32_t whole = findWhole(word); whole >= 0) {
        ids.push_back(whole);
        continue;
      }
      merger.start();
      for (unsigned char byte : word)
        if (byteTokens[byte] >= 0)
          merger.add(byteTokens[byte]);
      merger.mergeInto(ids);
    }
    if (special)
      ids.push_back(id);
    text.remove_prefix(plain + special);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Tokens to text
//===----------------------------------------------------------------------===//

void Tokenizer::decode(int32_t id, std::string &text) const {
  if (id < 0 || static_cast<uint32_t>(id) >= count)
    return;
  std::string_view rest = spelling(static_cast<uint32_t>(id));
  switch (types[id]) {
  case TFM_TOKEN_CONTROL:
    return;
  case TFM_TOKEN_USER_DEFINED:
    text += rest;
    return;
  case TFM_TOKEN_BYTE: {
    unsigned char byte = 0;
    if (rest.size() == 6 && rest.starts_with("<0x") && rest.ends_with(">"))
      std::from_chars(rest.data() + 3, rest.data() + 5, byte, 16);
    text += static_cast<char>(byte);
    return;
  }
  default:
    while (!rest.empty()) {
      Character next = decodeCharacter(rest);
      size_t bytes = next.kind == Character::Valid ? next.bytes : 1;
      int byte = next.kind == Character::Valid ? byteOf(next.code) : -1;
      // What is not in the alphabet stands for itself.
      if (byte >= 0)
        text += static_cast<char>(byte);
      else
        text += rest.substr(0, bytes);
      rest.remove_prefix(bytes);
    }
  }
}

std::string_view StreamDecoder::append(int32_t id, bool last) {
  text.erase(0, given);
  tokenizer->decode(id, text);
  given = text.size() - (last ? 0 : countTruncatedBytes(text));
  return std::string_view(text).substr(0, given);
}
