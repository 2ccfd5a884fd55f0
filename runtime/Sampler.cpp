//===- Sampler.cpp - Choosing the next token ------------------------------===//
//
// See Sampler.h.
//
//===----------------------------------------------------------------------===//

#include "runtime/Sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace tfm;

uint64_t Random::next() {
  uint64_t mixed = state += 0x9E3779B97F4A7C15;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
  return mixed ^ mixed >> 31;
}

int32_t tfm::findLargest(std::span<const float> logits) {
  float best = -INFINITY;
  int32_t id = -1;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > best) { // never true of NaN
      best = logits[i];
      id = static_cast<int32_t>(i);
    }
  }
  return id;
}

Error Sampler::check(const tfm_sampling &options) {
  auto outOfRange = [](const char *what, float found) {
    return std::string("expects a ") + what + ", but got " +
           std::to_string(found);
  };
  // Written so that NaN fails, too.
  if (!(options.temperature >= 0 && std::isfinite(options.temperature)))
    return outOfRange("temperature of at least 0", options.temperature);
  if (options.top_k < 0)
    return "expects a top-k of at least 0, but got " +
           std::to_string(options.top_k);
  if (!(options.top_p > 0 && options.top_p <= 1))
    return outOfRange("top-p above 0 and at most 1", options.top_p);
  if (!(options.repeat_penalty > 0 && std::isfinite(options.repeat_penalty)))
    return outOfRange("repetition penalty above 0", options.repeat_penalty);
  return {};
}

Sampler::Sampler(const tfm_sampling &options, int32_t vocabulary)
    : options(options), random(options.seed),
      seen(static_cast<size_t>(vocabulary)) {}

void Sampler::accept(int32_t id) {
  if (seen[id])
    return;
  seen[id] = true;
  seenIds.push_back(id);
}

int32_t Sampler::sample(std::span<float> logits) {
  if (options.repeat_penalty != 1)
    for (int32_t id : seenIds)
      logits[id] = logits[id] > 0 ? logits[id] / options.repeat_penalty
                                  : logits[id] * options.repeat_penalty;
  int32_t largest = findLargest(logits);
  // Beside an infinite logit all others have probability 0.
  if (options.temperature == 0 || largest < 0 || std::isinf(logits[largest]))
    return largest;
  return draw(logits);
}

int32_t Sampler::draw(std::span<const float> logits) {
  candidates.clear();
  for (size_t i = 0; i < logits.size(); ++i)
    if (logits[i] > -INFINITY)
      candidates.push_back({logits[i], static_cast<int32_t>(i)});

  // Best first, so that limits cut off the end.
  auto better = [](const Candidate &left, const Candidate &right) {
    return left.logit != right.logit ? left.logit > right.logit
                                     : left.id < right.id;
  };
  size_t kept = candidates.size();
  if (options.top_k > 0)
    kept = std::min(kept, static_cast<size_t>(options.top_k));
  std::partial_sort(candidates.begin(), candidates.begin() + kept,
                    candidates.end(), better);
  candidates.resize(kept);

  weights.clear();
  double best = candidates.front().logit;
  for (const Candidate &candidate : candidates)
    weights.push_back(
        std::exp((candidate.logit - best) / double(options.temperature)));
  double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (options.top_p < 1) {
    double limit = options.top_p * total, sum = 0;
    size_t nucleus = 0;
    while (nucleus < weights.size() && sum < limit)
      sum += weights[nucleus++];
    weights.resize(nucleus);
    total = sum;
  }

  double point = random.nextUnit() * total;
  size_t chosen = 0;
  for (; chosen + 1 < weights.size() && point >= weights[chosen]; ++chosen)
    point -= weights[chosen];
  return candidates[chosen].id;
}
