//===- FakeModel.h - A model whose text can be worked out -------*- C++ -*-===//
//
// A stand-in for generated code: `tfm_model_descriptor` with the entry points
// of a decoder that keeps each token in its cache and predicts
//
//   next = (sum of all tokens + 3 * their number) mod 101
//
// with logit 2, the token after it (mod 101) with logit 1 and 0 for the rest.
// It reads everything back from the cache, so a mistake in chunks, views or
// copies changes what it says.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_TEST_RUNTIME_FAKEMODEL_H
#define TFM_TEST_RUNTIME_FAKEMODEL_H

#include <cstdint>
#include <numeric>
#include <vector>

namespace tfm::test {

constexpr int32_t fakeModulus = 101;
constexpr int32_t fakeVocabulary = 102;
constexpr int32_t fakeContext = 100; // not whole tiles
constexpr int32_t fakeEos = 100;
/// A kernel that meets this token, which is never predicted, fails with -9.
constexpr int32_t fakePoison = 101;

/// The entry points' calls so far, all tests together: batch and length of
/// each.
struct FakeCall {
  bool decode;
  int64_t batch, length;
};
extern std::vector<FakeCall> fakeCalls;

/// What the model predicts after `tokens`.
inline int32_t predict(const std::vector<int32_t> &tokens) {
  int64_t sum = std::accumulate(tokens.begin(), tokens.end(), int64_t(0));
  return static_cast<int32_t>((sum + 3 * int64_t(tokens.size())) % fakeModulus);
}

} // namespace tfm::test

#endif // TFM_TEST_RUNTIME_FAKEMODEL_H
