//===- FakeModel.cpp - A model whose text can be worked out ---------------===//
//
// See FakeModel.h. Two layers and two heads, so that strides matter: every one
// holds the same tokens, and all are read.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/FakeModel.h"
#include "runtime/include/tfm_abi.h"
#include "test/runtime/TokenizerBlob.h"

#include <algorithm>

using namespace tfm::test;

std::vector<FakeCall> tfm::test::fakeCalls;

namespace {

constexpr int layers = 2, heads = 2, keySize = 3, valueSize = 2;

/// The key element d of a position, d-major within its tile.
float &key(const tfm_cache &cache, int layer, int64_t sample, int head,
           int64_t position, int d) {
  int64_t tiles = cache.context / TFM_CACHE_TILE;
  int64_t tile = ((layer * cache.capacity + sample) * heads + head) * tiles +
                 position / TFM_CACHE_TILE;
  return static_cast<float *>(
      cache.keys)[(tile * keySize + d) * TFM_CACHE_TILE +
                  position % TFM_CACHE_TILE];
}

float &value(const tfm_cache &cache, int layer, int64_t sample, int head,
             int64_t position, int d) {
  int64_t row =
      ((layer * cache.capacity + sample) * heads + head) * cache.context +
      position;
  return static_cast<float *>(cache.values)[row * valueSize + d];
}

/// The sum of all tokens up to `position`, or -1 if the layers disagree.
int64_t sumTokens(const tfm_cache &cache, int64_t sample, int64_t position) {
  int64_t sum = 0;
  for (int64_t p = 0; p <= position; ++p) {
    float token = key(cache, 0, sample, 0, p, 0);
    for (int layer = 0; layer < layers; ++layer)
      for (int head = 0; head < heads; ++head) {
        for (int d = 0; d < keySize; ++d)
          if (key(cache, layer, sample, head, p, d) != token)
            return -1;
        for (int d = 0; d < valueSize; ++d)
          if (value(cache, layer, sample, head, p, d) != token)
            return -1;
      }
    sum += static_cast<int64_t>(token);
  }
  return sum;
}

enum Kind { Decode, Prefill, Score };

template <Kind kind> int32_t run(tfm_worker *worker, const tfm_call *call) {
  auto *tokens = static_cast<const int32_t *>(call->arguments[0]);
  auto &cache = *static_cast<tfm_cache *>(call->arguments[1]);
  auto *logits = static_cast<float *>(call->arguments[2]);
  int64_t length = call->length;

  // One tile per sample writes its tokens into the cache.
  for (int32_t b; (b = tfm_next_tile(worker, 0, call->batch)) >= 0;)
    for (int64_t s = 0; s < length; ++s) {
      int32_t token = tokens[b * length + s];
      if (token == fakePoison)
        tfm_fail(worker, -9);
      for (int layer = 0; layer < layers; ++layer)
        for (int head = 0; head < heads; ++head) {
          for (int d = 0; d < keySize; ++d)
            key(cache, layer, b, head, cache.lengths[b] + s, d) = token;
          for (int d = 0; d < valueSize; ++d)
            value(cache, layer, b, head, cache.lengths[b] + s, d) = token;
        }
    }

  // One tile per row of logits.
  int32_t rows = kind == Score ? length : 1;
  for (int32_t t; (t = tfm_next_tile(worker, 1, call->batch * rows)) >= 0;) {
    int64_t b = t / rows;
    int64_t s = kind == Score ? t % rows : length - 1;
    int64_t position = cache.lengths[b] + s;
    int64_t sum = sumTokens(cache, b, position);
    float *row = logits + int64_t(t) * fakeVocabulary;
    std::fill_n(row, fakeVocabulary, 0.f);
    if (sum < 0)
      tfm_fail(worker, -8);
    int64_t next = (sum + 3 * (position + 1)) % fakeModulus;
    row[(next + 1) % fakeModulus] = 1;
    row[next] = 2;
  }

  for (int32_t t; (t = tfm_next_tile(worker, 2, 1)) >= 0;) {
    fakeCalls.push_back({kind == Decode, call->batch, length});
    for (int64_t b = 0; b < call->batch; ++b)
      cache.lengths[b] += length;
  }
  return 0;
}

const int64_t tokenDims[] = {TFM_DIM_BATCH, TFM_DIM_LENGTH};
const int64_t rowDims[] = {TFM_DIM_BATCH, fakeVocabulary};
const int64_t allRowDims[] = {TFM_DIM_BATCH, TFM_DIM_LENGTH, fakeVocabulary};

constexpr tfm_argument tokensArgument = {"tokens", TFM_ROLE_INPUT,
                                         TFM_ELEMENT_I32, 2, tokenDims};
constexpr tfm_argument cacheArgument = {"cache", TFM_ROLE_CACHE,
                                        TFM_ELEMENT_F32, 0, nullptr};
const tfm_argument lastRow[] = {
    tokensArgument,
    cacheArgument,
    {"logits", TFM_ROLE_OUTPUT, TFM_ELEMENT_F32, 2, rowDims}};
const tfm_argument allRows[] = {
    tokensArgument,
    cacheArgument,
    {"logits", TFM_ROLE_OUTPUT, TFM_ELEMENT_F32, 3, allRowDims}};

const tfm_entry_point entryPoints[] = {
    {"prefill", run<Prefill>, 3, lastRow, 64, 0, 64},
    {"decode", run<Decode>, 3, lastRow, 64, 0, 64},
    {"score", run<Score>, 3, allRows, 64, 0, 64}};

const tfm_target targets[] = {{"baseline", 0, nullptr}};

/// Token i is the letter i, from U+0021 on, but for the end of text.
struct Blob {
  uint64_t bytes;
  std::vector<uint64_t> words;
  Blob() {
    TokenizerBlob blob;
    for (int i = 0; i < fakeEos; ++i)
      blob.tokens.push_back({i < 94 ? std::string(1, static_cast<char>('!' + i))
                                    : "t" + std::to_string(i),
                             TokenKind::Word});
    blob.tokens.push_back({"<end>", TokenKind::Control});
    blob.tokens.push_back({"<poison>", TokenKind::Unused});
    words = blob.write(bytes);
  }
};
const Blob blob;

const tfm_resource resources[] = {{"tokenizer", blob.words.data(), blob.bytes}};

} // namespace

const tfm_model tfm_model_descriptor = {
    TFM_ABI_VERSION,
    fakeContext,
    fakeVocabulary,
    -1,
    0,
    fakeEos,
    "fake",
    "sum",
    "none",
    "",
    {layers, heads, keySize, valueSize, TFM_ELEMENT_F32},
    0,
    ".tfm.weights",
    3,
    1,
    1,
    entryPoints,
    targets,
    resources};
