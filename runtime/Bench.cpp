//===- Bench.cpp - How fast the model runs --------------------------------===//
//
// See Bench.h.
//
//===----------------------------------------------------------------------===//

#include "runtime/Bench.h"
#include "runtime/Limits.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

using namespace tfm;

/// Some token ids; any do.
static std::vector<int32_t> someTokens(int32_t count, const tfm_info &info) {
  std::vector<int32_t> ids(count);
  for (int32_t i = 0; i < count; ++i)
    ids[i] = static_cast<int32_t>(int64_t(i) * 7919 % info.vocabulary);
  return ids;
}

/// The median time per run of `run`, in seconds; negative if it failed.
template <typename Run> static double timeMedian(Run run) {
  std::vector<double> times;
  for (int i = 0; i <= benchRuns; ++i) {
    auto start = std::chrono::steady_clock::now();
    if (!run())
      return -1;
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - start;
    if (i > 0)
      times.push_back(time.count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

static Error benchGeneration(tfm_session *session, const tfm_info &info,
                             BenchResult &result) {
  std::vector<float> logits(info.vocabulary);
  std::vector<int32_t> ids = someTokens(benchPrefillTokens, info);
  double prefill = timeMedian([&] {
    return tfm_session_reset(session, 0) == 0 &&
           tfm_prefill(session, 0, ids.data(), ids.size(), logits.data()) == 0;
  });
  if (prefill < 0)
    return std::string(tfm_error());
  double decode = timeMedian([&] {
    bool ok = tfm_session_reset(session, 0) == 0;
    for (int32_t i = 0; ok && i < benchDecodeTokens; ++i)
      ok = tfm_decode(session, 1, &ids[i], logits.data()) == 0;
    return ok;
  });
  if (decode < 0)
    return std::string(tfm_error());
  result.prefillTokensPerSecond = benchPrefillTokens / prefill;
  result.decodeTokensPerSecond = benchDecodeTokens / decode;
  return {};
}

static Error benchEmbedding(tfm_session *session, const tfm_info &info,
                            BenchResult &result) {
  std::vector<float> embedding(info.embedding);
  std::vector<int32_t> ids =
      someTokens(std::min(benchEmbedTokens, info.context), info);
  tfm_prompt text = {ids.data(), ids.size()};
  double time = timeMedian(
      [&] { return tfm_embed(session, &text, 1, embedding.data()) == 0; });
  if (time < 0)
    return std::string(tfm_error());
  result.embedTextsPerSecond = 1 / time;
  result.embedTokens = static_cast<int32_t>(ids.size());
  return {};
}

Error tfm::runBench(const tfm_program *program,
                    const tfm_session_options &options, BenchResult &result) {
  result = {};
  tfm_session *created;
  if (tfm_session_create(program, &options, &created))
    return std::string(tfm_error());
  std::unique_ptr<tfm_session, decltype(&tfm_session_destroy)> session(
      created, tfm_session_destroy);
  result.threads = tfm_session_threads(session.get());

  tfm_info info;
  tfm_get_info(program, &info);
  Error error = info.embedding ? benchEmbedding(session.get(), info, result)
                               : benchGeneration(session.get(), info, result);
  if (error)
    return error;

  session.reset(); // its threads must not run beside the yardsticks
  Limits limits;
  if (Error error = measureLimits(result.threads, limits))
    return error;
  result.readBytesPerSecond = limits.readBytesPerSecond;
  result.flopsPerSecond = limits.flopsPerSecond;
  return {};
}
