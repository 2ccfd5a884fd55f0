//===- sampler-test.cpp - Choosing the next token -------------------------===//

#include "runtime/Sampler.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tfm;
using testing::HasSubstr;

static constexpr tfm_sampling greedy = {0, 0, 1, 1, 0};

static int32_t sampleOnce(tfm_sampling options, std::vector<float> logits) {
  Sampler sampler(options, static_cast<int32_t>(logits.size()));
  return sampler.sample(logits);
}

/// How often each token is drawn of `draws`.
static std::vector<int> count(tfm_sampling options,
                              const std::vector<float> &logits, int draws) {
  Sampler sampler(options, static_cast<int32_t>(logits.size()));
  std::vector<int> counts(logits.size());
  for (int i = 0; i < draws; ++i) {
    std::vector<float> copy = logits;
    ++counts[sampler.sample(copy)];
  }
  return counts;
}

// The first outputs of the reference implementation for seed 1234567
// (splitmix64.c by Sebastiano Vigna, as quoted on rosettacode.org).
TEST(RandomTest, IsSplitMix64) {
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317u);
  EXPECT_EQ(random.next(), 3203168211198807973u);
  EXPECT_EQ(random.next(), 9817491932198370423u);
}

TEST(SamplerTest, GreedyTakesTheLowestIdOfSeveral) {
  EXPECT_EQ(sampleOnce(greedy, {1, 3, 3, 2}), 1);
  EXPECT_EQ(sampleOnce(greedy, {-5, -4, -4}), 1);
}

TEST(SamplerTest, SkipsWhatIsNotANumber) {
  EXPECT_EQ(sampleOnce(greedy, {NAN, 1, NAN}), 1);
  EXPECT_EQ(sampleOnce(greedy, {NAN, NAN}), -1);
  EXPECT_EQ(sampleOnce(greedy, {-INFINITY, -INFINITY}), -1);
  tfm_sampling warm = {1, 0, 1, 1, 7};
  EXPECT_EQ(sampleOnce(warm, {NAN, 0, -INFINITY}), 1);
  EXPECT_EQ(sampleOnce(warm, {NAN, 0, INFINITY}), 2);
  EXPECT_EQ(sampleOnce(warm, {NAN}), -1);
}

TEST(SamplerTest, DrawsByProbability) {
  // softmax(log 6, log 3, log 1) = 0.6, 0.3, 0.1; with 20000 draws one
  // standard deviation is at most 0.0035.
  std::vector<float> logits = {std::log(6.f), std::log(3.f), std::log(1.f)};
  std::vector<int> counts = count({1, 0, 1, 1, 42}, logits, 20000);
  EXPECT_NEAR(counts[0] / 20000., 0.6, 0.015);
  EXPECT_NEAR(counts[1] / 20000., 0.3, 0.015);
  EXPECT_NEAR(counts[2] / 20000., 0.1, 0.015);
  // A temperature of 1/2 squares them: 36, 9 and 1 of 46.
  counts = count({0.5, 0, 1, 1, 42}, logits, 20000);
  EXPECT_NEAR(counts[0] / 20000., 36. / 46, 0.015);
  EXPECT_NEAR(counts[2] / 20000., 1. / 46, 0.015);
}

TEST(SamplerTest, LimitsToTheBest) {
  std::vector<float> logits = {std::log(1.f), std::log(6.f), std::log(3.f)};
  std::vector<int> counts = count({1, 2, 1, 1, 1}, logits, 3000);
  EXPECT_EQ(counts[0], 0);
  EXPECT_NEAR(counts[1] / 3000., 2. / 3, 0.05);
  // 0.6 is not yet 0.7, so the second belongs to the nucleus.
  counts = count({1, 0, 0.7f, 1, 1}, logits, 3000);
  EXPECT_EQ(counts[0], 0);
  EXPECT_GT(counts[2], 0);
  counts = count({1, 0, 0.5f, 1, 1}, logits, 3000);
  EXPECT_EQ(counts[1], 3000);
}

TEST(SamplerTest, RepeatsASeed) {
  std::vector<float> logits(100, 0);
  std::vector<int> first = count({1, 0, 1, 1, 5}, logits, 50);
  EXPECT_EQ(count({1, 0, 1, 1, 5}, logits, 50), first);
  EXPECT_NE(count({1, 0, 1, 1, 6}, logits, 50), first);
}

TEST(SamplerTest, PenalisesRepetition) {
  Sampler sampler({0, 0, 1, 2, 0}, 3);
  sampler.accept(0);
  sampler.accept(0); // counts once
  std::vector<float> positive = {3, 1.4f, 1};
  EXPECT_EQ(sampler.sample(positive), 0); // 3 / 2 = 1.5
  positive = {3, 1.6f, 1};
  EXPECT_EQ(sampler.sample(positive), 1);
  std::vector<float> negative = {-1, -1.5f, -3};
  EXPECT_EQ(sampler.sample(negative), 1); // -1 * 2 = -2
}

TEST(SamplerTest, NamesWhatIsOutOfRange) {
  auto check = [](tfm_sampling options) {
    return Sampler::check(options).message();
  };
  EXPECT_EQ(check(greedy), "");
  EXPECT_THAT(check({-1, 0, 1, 1, 0}), HasSubstr("temperature"));
  EXPECT_THAT(check({NAN, 0, 1, 1, 0}), HasSubstr("temperature"));
  EXPECT_THAT(check({1, -1, 1, 1, 0}), HasSubstr("top-k"));
  EXPECT_THAT(check({1, 0, 0, 1, 0}), HasSubstr("top-p"));
  EXPECT_THAT(check({1, 0, 1.5f, 1, 0}), HasSubstr("top-p"));
  EXPECT_THAT(check({1, 0, 1, 0, 0}), HasSubstr("penalty"));
}
