//===- Session.h - A cache and the threads that fill it ---------*- C++ -*-===//
//
// Calls a model's entry points on a key/value cache that holds a number of
// samples. Each has its own length; generated code advances it.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_SESSION_H
#define TFM_RUNTIME_SESSION_H

#include "runtime/Error.h"
#include "runtime/Memory.h"
#include "runtime/Pool.h"
#include "runtime/Program.h"
#include "runtime/include/tfm.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tfm {

/// Used by one thread at a time, `cancel` apart.
class Session {
public:
  /// `program` must outlive the session.
  explicit Session(const Program &program) : program(program) {}

  Error create(const tfm_session_options &options);

  /// See the functions of the same name in tfm.h.
  Error prefill(int32_t sample, std::span<const int32_t> ids, float *logits);
  Error decode(std::span<const int32_t> ids, float *logits);
  Error score(int32_t sample, std::span<const int32_t> ids, double *logprobs,
              int32_t *argmax);
  Error run(std::string_view function, std::span<const tfm_tensor> inputs,
            tfm_tensor *outputs);
  Error embed(std::span<const tfm_prompt> texts, float *embeddings);
  Error reset(int32_t sample);

  /// Whether `ids` can be a prompt: some, known and within the context.
  Error checkPrompt(std::span<const int32_t> ids) const;

  /// Makes sample `to` what sample `from` is.
  void copy(int32_t from, int32_t to);

  /// The running call is to end. Lasts until `clearCancelled`.
  void cancel() { cancelFlag.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelFlag.load(std::memory_order_relaxed); }
  void clearCancelled() { cancelFlag.store(false, std::memory_order_relaxed); }

  const Program &getProgram() const { return program; }
  int32_t batch() const { return static_cast<int32_t>(lengths.size()); }
  int32_t context() const { return contextTokens; }
  int32_t threads() const { return pool->threads(); }

private:
  Error allocate();
  int32_t scoreChunk() const;
  int32_t embedRows() const;
  Error checkSample(int32_t sample) const;
  Error checkTokens(int64_t held, std::span<const int32_t> ids) const;
  Error call(const char *name, int32_t sample, int64_t batch,
             std::span<const int32_t> ids, float *result);

  const Program &program;
  int32_t contextTokens = 0;
  int32_t prefillChunk = 0;
  std::vector<int32_t> lengths;
  std::vector<tfm_cache> views; ///< [b]: the samples from b on
  Mapping keys, values, arena, scoreLogits;
  std::vector<Mapping> outputs; ///< of `run`
  std::atomic<bool> cancelFlag = false;
  std::optional<Pool> pool; ///< last: its threads end before what they read
};

/// Continues prompts, see `tfm_generate`.
Error generate(Session &session, std::span<const tfm_prompt> prompts,
               int32_t maxNewTokens, const tfm_sampling &sampling,
               tfm_token_callback callback, void *user);

} // namespace tfm

#endif // TFM_RUNTIME_SESSION_H
