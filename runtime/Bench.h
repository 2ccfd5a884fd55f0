//===- Bench.h - How fast the model runs ------------------------*- C++ -*-===//
//
// The executable's --bench. A decoded token reads every weight once, so tokens
// per second times the bytes of the weights is the bandwidth that decoding
// uses, to be held against the machine's.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_BENCH_H
#define TFM_RUNTIME_BENCH_H

#include "runtime/Error.h"
#include "runtime/include/tfm.h"

namespace tfm {

/// Speeds of what the model cannot do are 0.
struct BenchResult {
  double prefillTokensPerSecond;
  double decodeTokensPerSecond;
  double embedTextsPerSecond; ///< of `embedTokens` tokens, one at a time
  int32_t embedTokens;
  double readBytesPerSecond; ///< the machine's limit, same threads
  double flopsPerSecond;     ///< the machine's limit, same threads
  int32_t threads;
};

/// Prefills `benchPrefillTokens` into an empty context and decodes
/// `benchDecodeTokens` into an empty context, or makes the embedding of a text
/// of `benchEmbedTokens` (of the context, if that is less), and measures the
/// machine's limits. Speeds are medians of `benchRuns` runs after one that does
/// not count.
constexpr int32_t benchPrefillTokens = 512;
constexpr int32_t benchDecodeTokens = 128;
constexpr int32_t benchEmbedTokens = 128;
constexpr int32_t benchRuns = 3;
Error runBench(const tfm_program *program, const tfm_session_options &options,
               BenchResult &result);

} // namespace tfm

#endif // TFM_RUNTIME_BENCH_H
