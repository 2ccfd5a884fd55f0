//===- FakeEncoder.cpp - An encoder whose embeddings can be worked out ----===//
//
// A stand-in for generated code: `tfm_model_descriptor` with one entry point,
// `embed`, that makes
//
//   [the sum of a text's tokens, their number, batch of the call]
//
// and fails with -9 if its arena is smaller than its formula says or a token is
// 101. Token i is the letter i, from U+0021 on.
//
//===----------------------------------------------------------------------===//

#include "runtime/include/tfm_abi.h"
#include "test/runtime/TokenizerBlob.h"

#include <cstring>
#include <numeric>

using namespace tfm::test;

namespace {

constexpr int32_t context = 40, vocabulary = 102, size = 3, poison = 101;
constexpr int64_t perRow = 128, perSample = 64, fixed = 4096;

int32_t embed(tfm_worker *worker, const tfm_call *call) {
  auto *tokens = static_cast<const int32_t *>(call->arguments[0]);
  auto *embeddings = static_cast<float *>(call->arguments[1]);
  for (int32_t b; (b = tfm_next_tile(worker, 0, call->batch)) >= 0;) {
    const int32_t *first = tokens + b * call->length;
    for (int64_t s = 0; s < call->length; ++s)
      if (first[s] == poison)
        tfm_fail(worker, -9);
    embeddings[b * size] =
        static_cast<float>(std::accumulate(first, first + call->length, 0));
    embeddings[b * size + 1] = static_cast<float>(call->length);
    embeddings[b * size + 2] = static_cast<float>(call->batch);
    if (b == 0) // memory that was not allocated is not there
      std::memset(call->arena, 1,
                  perRow * call->batch * call->length +
                      perSample * call->batch + fixed);
  }
  return 0;
}

const int64_t tokenDims[] = {TFM_DIM_BATCH, TFM_DIM_LENGTH};
const int64_t rowDims[] = {TFM_DIM_BATCH, size};
const tfm_argument arguments[] = {
    {"tokens", TFM_ROLE_INPUT, TFM_ELEMENT_I32, 2, tokenDims},
    {"embedding", TFM_ROLE_OUTPUT, TFM_ELEMENT_F32, 2, rowDims}};
const tfm_entry_point entryPoints[] = {
    {"embed", embed, 2, arguments, perRow, perSample, fixed}};
const tfm_target targets[] = {{"baseline", 0, nullptr}};

struct Blob {
  uint64_t bytes;
  std::vector<uint64_t> words;
  Blob() {
    TokenizerBlob blob;
    for (int i = 0; i < vocabulary; ++i)
      blob.tokens.push_back({i < 94 ? std::string(1, static_cast<char>('!' + i))
                                    : "t" + std::to_string(i),
                             TokenKind::Word});
    words = blob.write(bytes);
  }
};
const Blob blob;
const tfm_resource resources[] = {{"tokenizer", blob.words.data(), blob.bytes}};

} // namespace

const tfm_model tfm_model_descriptor = {
    TFM_ABI_VERSION, context, vocabulary, -1, 0,           -1,
    "fake encoder",  "sum",   "none",     "", {},          0,
    ".tfm.weights",  1,       1,          1,  entryPoints, targets,
    resources};
