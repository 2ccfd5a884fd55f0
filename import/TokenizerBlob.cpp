//===- TokenizerBlob.cpp - Writing the "tokenizer" resource ---------------===//
//
// See TokenizerBlob.h. Compilers run on little-endian machines.
//
//===----------------------------------------------------------------------===//

#include "import/TokenizerBlob.h"

#include <algorithm>
#include <bit>

using namespace mlir::tfm;

static_assert(std::endian::native == std::endian::little);

namespace {

/// Collects strings and their indices.
class Strings {
public:
  uint32_t add(const std::string &string) {
    bytes += string;
    offsets.push_back(static_cast<uint32_t>(bytes.size()));
    return static_cast<uint32_t>(offsets.size() - 2);
  }

  std::string bytes;
  std::vector<uint32_t> offsets = {0};
};

} // namespace

template <typename T>
static void append(const std::vector<T> &array, std::string &blob) {
  blob.append(reinterpret_cast<const char *>(array.data()),
              array.size() * sizeof(T));
}

std::string TokenizerBlob::encode() const {
  Strings strings;
  std::vector<uint32_t> words;
  std::vector<uint8_t> flags;
  for (const Token &token : tokens) {
    uint32_t id = strings.add(token.text);
    flags.push_back(token.flags);
    if (token.isWord)
      words.push_back(id);
  }
  std::sort(words.begin(), words.end(), [&](uint32_t a, uint32_t b) {
    return tokens[a].text < tokens[b].text;
  });
  std::vector<double> scores;
  if (model == TFM_MODEL_UNIGRAM)
    for (uint32_t id : words)
      scores.push_back(tokens[id].score);
  std::vector<tfm_text_step> steps;
  for (const auto *phase : {&normalizer, &preTokenizer, &decoder})
    for (const TextStep &step : *phase) {
      uint32_t first = strings.add(step.first);
      strings.add(step.second);
      strings.add(step.third);
      steps.push_back({step.kind, step.flags, {first, first + 1, first + 2}});
    }

  tfm_tokenizer_header header = {};
  header.magic = TFM_TOKENIZER_MAGIC;
  header.version = TFM_TOKENIZER_VERSION;
  header.token_count = static_cast<uint32_t>(tokens.size());
  header.word_count = static_cast<uint32_t>(words.size());
  header.score_count = static_cast<uint32_t>(scores.size());
  header.merge_count = static_cast<uint32_t>(merges.size());
  header.normalizer_count = static_cast<uint32_t>(normalizer.size());
  header.pre_tokenizer_count = static_cast<uint32_t>(preTokenizer.size());
  header.decoder_count = static_cast<uint32_t>(decoder.size());
  header.prefix_count = static_cast<uint32_t>(prefix.size());
  header.suffix_count = static_cast<uint32_t>(suffix.size());
  header.model = model;
  header.model_flags = modelFlags;
  header.unknown = unknown;
  header.piece_prefix = strings.add(piecePrefix);
  header.word_suffix = strings.add(wordSuffix);
  header.max_word = maxWord;
  header.string_count = static_cast<uint32_t>(strings.offsets.size() - 1);
  header.string_bytes = strings.offsets.back();

  std::string blob(reinterpret_cast<const char *>(&header), sizeof header);
  append(scores, blob);
  append(strings.offsets, blob);
  append(words, blob);
  append(merges, blob);
  append(steps, blob);
  append(prefix, blob);
  append(suffix, blob);
  append(flags, blob);
  return blob + strings.bytes;
}
