//===- PreTokenizer.cpp - Rewriting text and cutting it into words --------===//
//
// See PreTokenizer.h.
//
//===----------------------------------------------------------------------===//

#include "runtime/PreTokenizer.h"
#include "runtime/ByteAlphabet.h"
#include "runtime/NormalForm.h"

#include <algorithm>

using namespace tfm;

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

Error Rewriter::create(const TokenizerData &data, const tfm_text_step &step) {
  this->step = step;
  if (step.kind != TFM_STEP_REPLACE)
    return {};
  before = data.string(step.strings[1]);
  after = data.string(step.strings[2]);
  return pattern.create(data.string(step.strings[0]));
}

Error Rewriter::apply(Workspace &workspace, bool isFirst,
                      std::string &text) const {
  switch (step.kind) {
  case TFM_STEP_NORMAL_FORM:
    text = toNormalForm(text, static_cast<tfm_normal_form>(step.flags));
    return {};
  case TFM_STEP_LOWERCASE:
    text = toLowerCase(text);
    return {};
  case TFM_STEP_SPELL_BYTES:
    text = spellBytes(text);
    return {};
  default: // TFM_STEP_REPLACE
    break;
  }
  if ((step.flags & TFM_REPLACE_FIRST) && !isFirst)
    return {};
  if (Error error = workspace.matcher.findAll(pattern, text))
    return error;
  if (workspace.matcher.matches().empty())
    return {};
  std::string result;
  size_t end = 0;
  for (Matcher::Match match : workspace.matcher.matches()) {
    result.append(text, end, match.begin - end);
    result += before;
    if (step.flags & TFM_REPLACE_AROUND)
      result.append(text, match.begin, match.end - match.begin);
    result += after;
    end = match.end;
    if (result.size() > workspace.longest)
      return "expects a tokenizer that makes of a text at most " +
             std::to_string(workspace.longest) + " bytes, but got more";
  }
  result.append(text, end);
  text = std::move(result);
  return {};
}

//===----------------------------------------------------------------------===//
// Cutting
//===----------------------------------------------------------------------===//

namespace {

/// A match of a pattern that cuts, or what is between two.
struct Part {
  size_t begin, end;
  bool isMatch;
};

} // namespace

/// All of a text of `bytes`, with what is between matches.
static std::vector<Part> findParts(const std::vector<Matcher::Match> &matches,
                                   size_t bytes, bool invert) {
  std::vector<Part> parts;
  size_t end = 0;
  for (Matcher::Match match : matches) {
    if (end < match.begin)
      parts.push_back({end, match.begin, invert});
    parts.push_back({match.begin, match.end, !invert});
    end = match.end;
  }
  if (end < bytes)
    parts.push_back({end, bytes, invert});
  return parts;
}

/// Joins neighbours, as `behavior` says.
static std::vector<Part> joinParts(std::vector<Part> parts, uint32_t behavior) {
  bool toNext = behavior == TFM_SPLIT_MERGED_WITH_NEXT;
  if (toNext)
    std::reverse(parts.begin(), parts.end());
  std::vector<Part> joined;
  bool wasMatch = false;
  for (const Part &part : parts) {
    bool joins = behavior == TFM_SPLIT_CONTIGUOUS ? part.isMatch == wasMatch
                                                  : part.isMatch && !wasMatch;
    wasMatch = part.isMatch;
    if (!joins || joined.empty()) {
      joined.push_back(part);
      continue;
    }
    Part &last = joined.back();
    last = {std::min(last.begin, part.begin), std::max(last.end, part.end),
            part.isMatch};
  }
  if (toNext)
    std::reverse(joined.begin(), joined.end());
  return joined;
}

/// Appends the words of `piece`.
static Error cut(Workspace &workspace, const Regex &pattern, uint32_t flags,
                 Piece piece, std::vector<Piece> &words) {
  if (Error error = workspace.matcher.findAll(pattern, piece.text))
    return error;
  uint32_t behavior = flags & ~TFM_SPLIT_INVERT;
  std::vector<Part> parts = findParts(
      workspace.matcher.matches(), piece.text.size(), flags & TFM_SPLIT_INVERT);
  if (behavior > TFM_SPLIT_REMOVED)
    parts = joinParts(std::move(parts), behavior);
  for (const Part &part : parts)
    if (part.begin < part.end &&
        !(behavior == TFM_SPLIT_REMOVED && part.isMatch))
      words.push_back({piece.text.substr(part.begin, part.end - part.begin),
                       piece.isFirst && part.begin == 0});
  return {};
}

//===----------------------------------------------------------------------===//
// All steps
//===----------------------------------------------------------------------===//

Error PreTokenizer::create(const TokenizerData &data) {
  *this = {};
  for (const tfm_text_step &step : data.normalizer)
    if (Error error = normalizer.emplace_back().create(data, step))
      return error;
  for (const tfm_text_step &step : data.preTokenizer) {
    Step &made = steps.emplace_back();
    made.kind = step.kind;
    made.flags = step.flags;
    hasSpelling |= step.kind == TFM_STEP_SPELL_BYTES;
    Error error = step.kind == TFM_STEP_SPLIT
                      ? made.pattern.create(data.string(step.strings[0]))
                      : made.rewriter.create(data, step);
    if (error)
      return error;
  }
  return {};
}

Error PreTokenizer::normalize(Workspace &workspace, bool isFirst,
                              std::string &text) const {
  for (const Rewriter &rewriter : normalizer)
    if (Error error = rewriter.apply(workspace, isFirst, text))
      return error;
  return {};
}

Error PreTokenizer::split(Workspace &workspace, Piece piece,
                          Words &words) const {
  words.pieces.assign(1, piece);
  std::vector<Piece> cutPieces;
  for (const Step &step : steps) {
    if (step.kind == TFM_STEP_SPLIT) {
      cutPieces.clear();
      for (Piece piece : words.pieces)
        if (Error error =
                cut(workspace, step.pattern, step.flags, piece, cutPieces))
          return error;
      words.pieces.swap(cutPieces);
      continue;
    }
    std::deque<std::string> texts;
    for (Piece &piece : words.pieces) {
      std::string &text = texts.emplace_back(piece.text);
      if (Error error = step.rewriter.apply(workspace, piece.isFirst, text))
        return error;
      piece.text = text;
    }
    words.texts.swap(texts);
    std::erase_if(words.pieces, [](Piece piece) { return piece.text.empty(); });
  }
  return {};
}
