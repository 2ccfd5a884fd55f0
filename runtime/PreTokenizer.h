//===- PreTokenizer.h - Rewriting text, cutting it to words -----*- C++ -*-===//
//
// Tokens stay within words. How text is spelt and what a word is, is part of
// the vocabulary's definition and stated as steps (tfm_tokenizer_format.h).
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_PRETOKENIZER_H
#define TFM_RUNTIME_PRETOKENIZER_H

#include "runtime/Error.h"
#include "runtime/Regex.h"
#include "runtime/TokenizerData.h"

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace tfm {

/// What rewriting and cutting works with. Belongs to one thread.
struct Workspace {
  Matcher matcher;
  size_t longest = 0; ///< bytes that a rewritten text may have

  /// Prepares for a text of `bytes`. Steps that make it many times as long are
  /// no language's spelling, and would take all memory.
  void start(size_t bytes) { longest = 4096 + 64 * bytes; }
};

/// A step that rewrites text. May be used by several threads.
class Rewriter {
public:
  /// The strings of `data` must outlive the rewriter.
  Error create(const TokenizerData &data, const tfm_text_step &step);

  /// `isFirst`: whether `text` begins what is rewritten.
  Error apply(Workspace &workspace, bool isFirst, std::string &text) const;

private:
  tfm_text_step step = {};
  Regex pattern;
  std::string_view before, after;
};

/// A part of a text.
struct Piece {
  std::string_view text;
  bool isFirst; ///< whether the whole text begins with it
};

/// Unchanging once created; may be used by several threads.
class PreTokenizer {
public:
  /// The strings of `data` must outlive the pre-tokenizer.
  Error create(const TokenizerData &data);

  /// Whether bytes that are not UTF-8 have a spelling.
  bool spellsBytes() const { return hasSpelling; }

  bool hasNormalizer() const { return !normalizer.empty(); }

  /// Rewrites `text`, UTF-8. `isFirst` as in `Piece`.
  Error normalize(Workspace &workspace, bool isFirst, std::string &text) const;

  /// The words that models make tokens of.
  struct Words {
    std::vector<Piece> pieces;
    std::deque<std::string> texts; ///< of rewritten ones
  };

  /// Cuts `piece`, UTF-8, into `words`, which were empty.
  Error split(Workspace &workspace, Piece piece, Words &words) const;

private:
  struct Step {
    uint32_t kind, flags;
    Regex pattern;     ///< `TFM_STEP_SPLIT`
    Rewriter rewriter; ///< what rewrites
  };

  std::vector<Rewriter> normalizer;
  std::vector<Step> steps;
  bool hasSpelling = false;
};

} // namespace tfm

#endif // TFM_RUNTIME_PRETOKENIZER_H
