//===- Decoder.h - Texts through a decoder ----------------------*- C++ -*-===//

#ifndef TFM_TEST_RANDOM_DECODER_H
#define TFM_TEST_RANDOM_DECODER_H

#include "test/random/Execution.h"
#include "test/random/Random.h"

namespace mlir::tfm {

/// Texts, and a way of cutting them: first all samples together up to
/// `prefix`; then sample b goes back to `kept[b]` of its positions, and all go
/// on from there. So the samples of the second part have different lengths, and
/// stale positions behind them.
struct Schedule {
  int64_t batch, length, prefix;
  std::vector<int32_t> tokens; ///< [B, S]
  SmallVector<int64_t> chunks, laterChunks, kept;
  bool scores; ///< whether chunks go through @score, rather than @prefill

  /// Columns first[b]..first[b]+count−1 of each sample's tokens.
  Array slice(MLIRContext *context, ArrayRef<int64_t> first,
              int64_t count) const {
    Array part = Array::zeros(IntegerType::get(context, 32), {batch, count});
    for (int64_t b = 0; b != batch; ++b)
      for (int64_t i = 0; i != count; ++i)
        part.as<int32_t>()[b * count + i] = tokens[b * length + first[b] + i];
    return part;
  }
  Array all(MLIRContext *context) const {
    return slice(context, SmallVector<int64_t>(batch), length);
  }
};

Schedule makeSchedule(int64_t vocabulary, Random &random);

/// Runs a decoder's functions over a schedule.
class Decoder {
public:
  Decoder(ModuleOp module, const Schedule &schedule, int64_t vocabulary)
      : execution(module), context(module.getContext()), schedule(schedule),
        vocabulary(vocabulary) {}

  /// Gives the logits of all rows, by @forward or @score. If there is a cache,
  /// plays the schedule with it and compares each chunk's rows with these.
  std::optional<std::string> observe(SmallVector<Array> &observation);

  Interpreter &getInterpreter() { return execution.getInterpreter(); }

private:
  FailureOr<Array> run(StringRef function, const Array &tokens,
                       bool isLastRow = false);
  void createCache(int64_t positions);
  std::optional<std::string> play(const Array &expected);
  std::optional<std::string> playChunk(ArrayRef<int64_t> first, int64_t count,
                                       const Array &expected);

  Execution execution;
  MLIRContext *context;
  const Schedule &schedule;
  int64_t vocabulary;
  std::shared_ptr<Cache> cache;
};

} // namespace mlir::tfm

#endif // TFM_TEST_RANDOM_DECODER_H
