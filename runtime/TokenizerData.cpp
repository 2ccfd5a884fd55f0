//===- TokenizerData.cpp - A checked tokenizer blob -----------------------===//
//
// See TokenizerData.h.
//
//===----------------------------------------------------------------------===//

#include "runtime/TokenizerData.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace tfm;

static Error mismatch(const char *what, uint64_t expected, uint64_t found) {
  return std::string("expects the tokenizer's ") + what + " to be " +
         std::to_string(expected) + ", but got " + std::to_string(found);
}

static Error tooMany(const char *what, uint32_t most, uint32_t found) {
  return "expects a tokenizer of at most " + std::to_string(most) + " " + what +
         ", but got " + std::to_string(found);
}

namespace {

/// Hands out the arrays of a blob one after the other.
class Layout {
public:
  explicit Layout(const char *next) : next(next) {}

  template <typename T> void take(std::span<const T> &array, uint64_t count) {
    array = {reinterpret_cast<const T *>(next), static_cast<size_t>(count)};
    next += count * sizeof(T);
  }

private:
  const char *next;
};

} // namespace

/// The bytes of the arrays behind the header; counts are limited, so that
/// nothing wraps.
static uint64_t countBytes(const tfm_tokenizer_header &header) {
  uint64_t steps = uint64_t(header.normalizer_count) +
                   header.pre_tokenizer_count + header.decoder_count;
  uint64_t numbers = uint64_t(header.string_count) + 1 + header.word_count +
                     header.prefix_count + header.suffix_count;
  return header.score_count * sizeof(double) + numbers * sizeof(uint32_t) +
         header.merge_count * sizeof(tfm_merge) +
         steps * sizeof(tfm_text_step) + header.token_count +
         header.string_bytes;
}

Error TokenizerData::open(const void *blob, uint64_t bytes) {
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
  if (header.token_count > TFM_TOKENIZER_MAX_TOKENS)
    return tooMany("tokens", TFM_TOKENIZER_MAX_TOKENS, header.token_count);
  if (header.merge_count > TFM_TOKENIZER_MAX_MERGES)
    return tooMany("merges", TFM_TOKENIZER_MAX_MERGES, header.merge_count);
  for (uint32_t steps : {header.normalizer_count, header.pre_tokenizer_count,
                         header.decoder_count})
    if (steps > TFM_TOKENIZER_MAX_STEPS)
      return tooMany("steps", TFM_TOKENIZER_MAX_STEPS, steps);
  uint64_t size = sizeof header + countBytes(header);
  if (bytes != size)
    return mismatch("size", size, bytes);

  Layout layout(static_cast<const char *>(blob) + sizeof header);
  layout.take(scores, header.score_count);
  layout.take(offsets, uint64_t(header.string_count) + 1);
  layout.take(words, header.word_count);
  layout.take(merges, header.merge_count);
  layout.take(normalizer, header.normalizer_count);
  layout.take(preTokenizer, header.pre_tokenizer_count);
  layout.take(decoder, header.decoder_count);
  layout.take(prefix, header.prefix_count);
  layout.take(suffix, header.suffix_count);
  layout.take(flags, header.token_count);
  std::span<const char> text;
  layout.take(text, header.string_bytes);
  strings = text.data();

  for (auto check : {&TokenizerData::checkStrings, &TokenizerData::checkWords,
                     &TokenizerData::checkModel, &TokenizerData::checkSteps})
    if (Error error = (this->*check)())
      return error;
  if (Error error = checkIds("prefix", prefix))
    return error;
  return checkIds("suffix", suffix);
}

Error TokenizerData::checkStrings() const {
  if (header.string_count < header.token_count)
    return "expects at least as many strings as tokens, " +
           std::to_string(header.token_count) + ", but got " +
           std::to_string(header.string_count);
  if (offsets.front() != 0)
    return mismatch("first string", 0, offsets.front());
  for (size_t i = 0; i + 1 < offsets.size(); ++i)
    if (offsets[i] > offsets[i + 1])
      return "the tokenizer's string " + std::to_string(i) +
             " ends before it starts";
  if (offsets.back() != header.string_bytes)
    return mismatch("string bytes", header.string_bytes, offsets.back());
  constexpr unsigned known = 2 * TFM_TOKEN_SINGLE_WORD - 1;
  for (size_t id = 0; id < flags.size(); ++id)
    if (flags[id] > known)
      return "the tokenizer's token " + std::to_string(id) +
             " has the unknown flags " + std::to_string(flags[id]);
  return {};
}

Error TokenizerData::checkWords() const {
  if (Error error = checkIds("words", words))
    return error;
  for (size_t i = 1; i < words.size(); ++i)
    if (string(words[i - 1]) >= string(words[i]))
      return "the tokenizer's word " + std::to_string(i) + " is out of order";
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const tfm_merge &merge = merges[rank];
    if (std::max({merge.left, merge.right, merge.result}) >= header.token_count)
      return "the tokenizer's merge " + std::to_string(rank) +
             " names a token past the last";
  }
  return {};
}

Error TokenizerData::checkModel() const {
  if (header.model < TFM_MODEL_BPE || header.model > TFM_MODEL_UNIGRAM)
    return "the tokenizer has the unknown model " +
           std::to_string(header.model);
  bool isUnigram = header.model == TFM_MODEL_UNIGRAM;
  if (header.score_count != (isUnigram ? header.word_count : 0))
    return mismatch("number of scores", isUnigram ? header.word_count : 0,
                    header.score_count);
  if (!std::all_of(scores.begin(), scores.end(),
                   [](double score) { return std::isfinite(score); }))
    return std::string("the tokenizer has a score that is not finite");
  if (header.unknown != TFM_NO_TOKEN)
    if (Error error = checkIds("unknown token", {&header.unknown, 1}))
      return error;
  for (uint32_t index : {header.piece_prefix, header.word_suffix})
    if (index >= header.string_count)
      return "the tokenizer's model names the string " + std::to_string(index) +
             " past the last";
  return {};
}

Error TokenizerData::checkSteps() const {
  constexpr auto kinds = [](auto... kinds) { return ((1u << kinds) | ...); };
  constexpr unsigned rewriting =
      kinds(TFM_STEP_NORMAL_FORM, TFM_STEP_LOWERCASE, TFM_STEP_REPLACE);
  constexpr unsigned cutting =
      rewriting | kinds(TFM_STEP_SPLIT, TFM_STEP_SPELL_BYTES);
  constexpr unsigned decoding =
      kinds(TFM_STEP_REPLACE, TFM_STEP_READ_BYTES, TFM_STEP_READ_BYTE_TOKENS,
            TFM_STEP_JOIN, TFM_STEP_TRIM);
  auto check = [&](const char *phase, std::span<const tfm_text_step> steps,
                   unsigned allowed) -> Error {
    for (size_t i = 0; i < steps.size(); ++i) {
      auto fault = [&](const char *what, uint32_t number) {
        return "step " + std::to_string(i) + " of the tokenizer's " + phase +
               " has the unknown " + what + " " + std::to_string(number);
      };
      const tfm_text_step &step = steps[i];
      if (step.kind > TFM_STEP_TRIM || !(allowed >> step.kind & 1))
        return fault("kind", step.kind);
      for (uint32_t index : step.strings)
        if (index >= header.string_count)
          return fault("string", index);
      uint32_t most = UINT32_MAX;
      if (step.kind == TFM_STEP_NORMAL_FORM)
        most = TFM_NORMAL_FORM_KD;
      else if (step.kind == TFM_STEP_SPLIT)
        most = TFM_SPLIT_INVERT | TFM_SPLIT_CONTIGUOUS;
      if (step.flags > most)
        return fault("flags", step.flags);
      if (step.kind == TFM_STEP_TRIM && i + 1 != steps.size())
        return std::string("the tokenizer's decoder goes on after trimming");
    }
    return {};
  };
  if (Error error = check("normalizer", normalizer, rewriting))
    return error;
  if (Error error = check("pre-tokenizer", preTokenizer, cutting))
    return error;
  return check("decoder", decoder, decoding);
}

Error TokenizerData::checkIds(const char *what,
                              std::span<const uint32_t> ids) const {
  for (uint32_t id : ids)
    if (id >= header.token_count)
      return "the tokenizer's " + std::string(what) + " names the token " +
             std::to_string(id) + " past the last";
  return {};
}
