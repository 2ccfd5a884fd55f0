//===- Sampler.h - Choosing the next token ----------------------*- C++ -*-===//
//
// From logits to one token id, as `tfm_sampling` describes it.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_SAMPLER_H
#define TFM_RUNTIME_SAMPLER_H

#include "runtime/Error.h"
#include "runtime/include/tfm.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tfm {

/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
/// Generators", 2014): the same numbers on every machine.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next();

  /// In [0, 1), a multiple of 2^-53.
  double nextUnit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
  uint64_t state;
};

/// The lowest id among the largest of `logits`; NaN counts as minus infinity.
/// -1 if all are.
int32_t findLargest(std::span<const float> logits);

/// Chooses the tokens of one prompt's continuation.
class Sampler {
public:
  /// An error that names the field and its range, if one is out of it.
  static Error check(const tfm_sampling &options);

  /// `options` passed `check`.
  Sampler(const tfm_sampling &options, int32_t vocabulary);

  /// Counts `id` as seen, for the repetition penalty.
  void accept(int32_t id);

  /// The next token, or -1 if no logit is a number above minus infinity.
  /// `logits` are overwritten.
  int32_t sample(std::span<float> logits);

private:
  struct Candidate {
    float logit;
    int32_t id;
  };

  int32_t draw(std::span<const float> logits);

  tfm_sampling options;
  Random random;
  std::vector<bool> seen;
  std::vector<int32_t> seenIds;
  std::vector<Candidate> candidates;
  std::vector<double> weights;
};

} // namespace tfm

#endif // TFM_RUNTIME_SAMPLER_H
