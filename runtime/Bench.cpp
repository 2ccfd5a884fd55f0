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

Error tfm::runBench(const tfm_program *program,
                    const tfm_session_options &options, BenchResult &result) {
  tfm_session *created;
  if (tfm_session_create(program, &options, &created))
    return std::string(tfm_error());
  std::unique_ptr<tfm_session, decltype(&tfm_session_destroy)> session(
      created, tfm_session_destroy);
  result.threads = tfm_session_threads(session.get());

  tfm_info info;
  tfm_get_info(program, &info);
  std::vector<float> logits(info.vocabulary);
  std::vector<int32_t> ids(benchPrefillTokens);
  for (int32_t i = 0; i < benchPrefillTokens; ++i) // any tokens do
    ids[i] = static_cast<int32_t>(int64_t(i) * 7919 % info.vocabulary);

  double prefill = timeMedian([&] {
    return tfm_session_reset(session.get(), 0) == 0 &&
           tfm_prefill(session.get(), 0, ids.data(), ids.size(),
                       logits.data()) == 0;
  });
  if (prefill < 0)
    return std::string(tfm_error());
  double decode = timeMedian([&] {
    bool ok = tfm_session_reset(session.get(), 0) == 0;
    for (int32_t i = 0; ok && i < benchDecodeTokens; ++i)
      ok = tfm_decode(session.get(), 1, &ids[i], logits.data()) == 0;
    return ok;
  });
  if (decode < 0)
    return std::string(tfm_error());
  result.prefillTokensPerSecond = benchPrefillTokens / prefill;
  result.decodeTokensPerSecond = benchDecodeTokens / decode;

  session.reset(); // its threads must not run beside the yardsticks
  Limits limits;
  if (Error error = measureLimits(result.threads, limits))
    return error;
  result.readBytesPerSecond = limits.readBytesPerSecond;
  result.flopsPerSecond = limits.flopsPerSecond;
  return {};
}
