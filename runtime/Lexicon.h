//===- Lexicon.h - Tokens by their spelling ---------------------*- C++ -*-===//

#ifndef TFM_RUNTIME_LEXICON_H
#define TFM_RUNTIME_LEXICON_H

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tfm {

/// Unchanging once filled. Spellings belong to others.
class Lexicon {
public:
  struct Entry {
    std::string_view text;
    int32_t value;
    auto operator<=>(const Entry &) const = default;
  };

  void reserve(size_t count) { entries.reserve(count); }

  /// `text` sorts behind what was added before, or `sort` follows.
  void append(std::string_view text, int32_t value) {
    entries.push_back({text, value});
  }

  /// Puts entries in order. Of equal texts the one of the lowest value stays.
  void sort() {
    std::sort(entries.begin(), entries.end());
    auto isSame = [](const Entry &a, const Entry &b) {
      return a.text == b.text;
    };
    entries.erase(std::unique(entries.begin(), entries.end(), isSame),
                  entries.end());
  }

  /// The value of `text`, or -1.
  int32_t find(std::string_view text) const {
    auto place = std::lower_bound(
        entries.begin(), entries.end(), text,
        [](const Entry &entry, std::string_view t) { return entry.text < t; });
    return place != entries.end() && place->text == text ? place->value : -1;
  }

  /// Calls `visit(bytes, value)` for each entry, shorter ones first, that
  /// `text` starts with.
  template <typename Visit>
  void forEachPrefix(std::string_view text, Visit visit) const {
    auto begin = entries.begin(), end = entries.end();
    for (size_t depth = 0;; ++depth) {
      // All from `begin` on start with the same `depth` bytes.
      if (begin != end && begin->text.size() == depth) {
        visit(depth, begin->value);
        ++begin;
      }
      if (begin == end || depth == text.size())
        return;
      auto byteOf = [&](const Entry &entry) {
        return static_cast<unsigned char>(entry.text[depth]);
      };
      auto byte = static_cast<unsigned char>(text[depth]);
      begin = std::partition_point(
          begin, end, [&](const Entry &entry) { return byteOf(entry) < byte; });
      end = std::partition_point(begin, end, [&](const Entry &entry) {
        return byteOf(entry) == byte;
      });
    }
  }

private:
  std::vector<Entry> entries;
};

} // namespace tfm

#endif // TFM_RUNTIME_LEXICON_H
