//===- session-test.cpp - Running a model through tfm.h -------------------===//
//
// On the model of FakeModel.h, whose answers are worked out by its formula.
//
//===----------------------------------------------------------------------===//

#include "runtime/include/tfm.h"
#include "test/runtime/FakeModel.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <string>

using namespace tfm::test;
using testing::HasSubstr;

namespace {

using Ids = std::vector<int32_t>;

constexpr tfm_sampling greedy = {0, 0, 1, 1, 0};

struct Continuation {
  Ids ids;
  std::string text;
  tfm_stop stop;
  bool finished = false;
};

int collect(void *user, const tfm_token *token) {
  Continuation &result =
      (*static_cast<std::vector<Continuation> *>(user))[token->prompt];
  EXPECT_FALSE(result.finished);
  if (token->id >= 0)
    result.ids.push_back(token->id);
  result.text.append(token->text, token->bytes);
  result.finished = token->finished;
  result.stop = token->stop;
  return 0;
}

/// What the model should say, by its formula alone.
Continuation expect(Ids tokens, size_t maxNewTokens,
                    size_t context = fakeContext) {
  Continuation result;
  result.finished = true;
  result.stop = TFM_STOP_LENGTH;
  while (result.ids.size() < maxNewTokens) {
    if (tokens.size() == context) {
      result.stop = TFM_STOP_CONTEXT;
      break;
    }
    int32_t next = predict(tokens);
    tokens.push_back(next);
    result.ids.push_back(next);
    if (next == fakeEos) {
      result.stop = TFM_STOP_EOS;
      break;
    }
  }
  return result;
}

class SessionTest : public testing::Test {
protected:
  void SetUp() override { ASSERT_EQ(tfm_open(&program), 0) << tfm_error(); }
  void TearDown() override {
    tfm_session_destroy(session);
    tfm_close(program);
  }

  void create(tfm_session_options options) {
    tfm_session_destroy(session);
    ASSERT_EQ(tfm_session_create(program, &options, &session), 0)
        << tfm_error();
    fakeCalls.clear();
  }

  std::vector<Continuation> generate(const std::vector<Ids> &prompts,
                                     int32_t maxNewTokens,
                                     tfm_sampling sampling = greedy) {
    std::vector<Continuation> results(prompts.size());
    std::vector<tfm_prompt> views;
    for (const Ids &ids : prompts)
      views.push_back({ids.data(), ids.size()});
    EXPECT_EQ(tfm_generate(session, views.data(), views.size(), maxNewTokens,
                           &sampling, collect, &results),
              0)
        << tfm_error();
    return results;
  }

  void check(const Continuation &found, const Continuation &expected) {
    EXPECT_EQ(found.ids, expected.ids);
    EXPECT_EQ(found.stop, expected.stop);
    EXPECT_TRUE(found.finished);
  }

  tfm_program *program = nullptr;
  tfm_session *session = nullptr;
};

/// Prompts of different lengths, 1 to `count`.
std::vector<Ids> makePrompts(int count) {
  std::vector<Ids> prompts;
  for (int i = 0; i < count; ++i) {
    prompts.emplace_back();
    for (int j = 0; j <= i; ++j)
      prompts.back().push_back((i * 31 + j * 7) % 99);
  }
  return prompts;
}

} // namespace

TEST_F(SessionTest, StopsAtLengthEndOfTextAndContext) {
  create({1, 0, 2, 0});
  check(generate({{5, 6}}, 3)[0], expect({5, 6}, 3));
  check(generate({{5, 6}}, 0)[0], expect({5, 6}, 0));
  Ids endsSoon = {97}; // 97 + 3 = 100, the end of text
  EXPECT_EQ(generate({endsSoon}, 10)[0].ids, Ids{fakeEos});
  EXPECT_EQ(generate({endsSoon}, 10)[0].stop, TFM_STOP_EOS);
  EXPECT_EQ(generate({endsSoon}, 10)[0].text, "") << "a control token";

  // Context 16, ask for 40: prompt and continuation fill it exactly.
  create({1, 16, 2, 0});
  Ids prompt = {1, 2, 3, 4};
  Continuation full = generate({prompt}, 40)[0];
  check(full, expect(prompt, 40, 16));
  EXPECT_EQ(full.ids.size(), 12u);
  EXPECT_EQ(full.stop, TFM_STOP_CONTEXT);
  EXPECT_EQ(generate({Ids(16, 1)}, 1)[0].ids.size(), 0u);
  EXPECT_EQ(generate({Ids(16, 1)}, 1)[0].stop, TFM_STOP_CONTEXT);
}

TEST_F(SessionTest, AnyChunkingGivesTheSame) {
  Ids prompt = makePrompts(70).back();
  Continuation expected = expect(prompt, 25);
  for (int32_t chunk : {1, 2, 7, 63, 64, 65, 100}) {
    create({1, 0, 2, chunk});
    check(generate({prompt}, 25)[0], expected);
    EXPECT_EQ(fakeCalls[0].length, std::min(chunk, 70));
    EXPECT_EQ(fakeCalls.size(), (69 + chunk) / chunk + expected.ids.size() - 1);
  }
}

TEST_F(SessionTest, ABatchChangesNothing) {
  std::vector<Ids> prompts = makePrompts(23);
  for (int32_t batch : {1, 2, 3, 8, 23, 40}) {
    create({batch, 0, 3, 5});
    std::vector<Continuation> found = generate(prompts, 60);
    for (size_t i = 0; i < prompts.size(); ++i) {
      SCOPED_TRACE("prompt " + std::to_string(i));
      check(found[i], expect(prompts[i], 60));
    }
    int64_t widest = 0;
    for (const FakeCall &call : fakeCalls)
      widest = std::max(widest, call.batch);
    EXPECT_EQ(widest, std::min(batch, 23)) << "samples run side by side";
  }
}

TEST_F(SessionTest, SeedsEachPromptAlike) {
  std::vector<Ids> prompts = makePrompts(6);
  tfm_sampling warm = {2, 2, 1, 1.1f, 9};
  create({6, 0, 2, 0});
  std::vector<Continuation> together = generate(prompts, 20, warm);
  create({1, 0, 2, 0});
  for (size_t i = 0; i < prompts.size(); ++i)
    check(generate({prompts[i]}, 20, warm)[0], together[i]);
}

TEST_F(SessionTest, PrefillAndDecodeContinueASample) {
  create({3, 0, 2, 4});
  std::vector<float> logits(3 * fakeVocabulary);
  std::vector<Ids> samples = {{4, 5, 6, 7, 8, 9}, {1}, {50, 60}};
  for (int32_t b = 0; b < 3; ++b) {
    ASSERT_EQ(tfm_prefill(session, b, samples[b].data(), samples[b].size(),
                          logits.data()),
              0);
    EXPECT_EQ(logits[predict(samples[b])], 2);
  }
  Ids next = {11, 12, 13};
  ASSERT_EQ(tfm_decode(session, 3, next.data(), logits.data()), 0);
  for (int32_t b = 0; b < 3; ++b) {
    samples[b].push_back(next[b]);
    EXPECT_EQ(logits[b * fakeVocabulary + predict(samples[b])], 2);
  }
  // Another chunk on top, and a fresh start.
  ASSERT_EQ(tfm_prefill(session, 1, next.data(), 3, logits.data()), 0);
  EXPECT_EQ(logits[predict({1, 12, 11, 12, 13})], 2);
  ASSERT_EQ(tfm_session_reset(session, 1), 0);
  ASSERT_EQ(tfm_prefill(session, 1, next.data(), 3, logits.data()), 0);
  EXPECT_EQ(logits[predict(next)], 2);
}

TEST_F(SessionTest, ScoresEveryToken) {
  Ids ids = makePrompts(90).back(); // more than one chunk
  // Logits 2, 1 and zeros.
  double sum = std::log(std::exp(2) + std::exp(1) + fakeVocabulary - 2);
  for (int32_t chunk : {0, 1, 7}) {
    create({1, 0, 2, chunk});
    std::vector<double> logprobs(ids.size() - 1);
    std::vector<int32_t> argmax(ids.size());
    ASSERT_EQ(tfm_score(session, 0, ids.data(), ids.size(), logprobs.data(),
                        argmax.data()),
              0);
    for (size_t i = 0; i < ids.size(); ++i) {
      int32_t next = predict(Ids(ids.begin(), ids.begin() + i + 1));
      EXPECT_EQ(argmax[i], next);
      if (i + 1 == ids.size())
        break;
      int32_t given = ids[i + 1];
      double logit = given == next                       ? 2
                     : given == (next + 1) % fakeModulus ? 1
                                                         : 0;
      EXPECT_NEAR(logprobs[i], logit - sum, 1e-12);
    }
  }
}

TEST_F(SessionTest, TokenizesAndDetokenizes) {
  Ids ids(8);
  size_t count = 0, bytes = 0;
  ASSERT_EQ(tfm_tokenize(program, "!#<end>", 7, ids.data(), 8, &count), 0);
  ids.resize(count);
  EXPECT_EQ(ids, (Ids{0, 2, fakeEos}));
  char text[2] = {};
  ASSERT_EQ(tfm_detokenize(program, ids.data(), 3, text, 1, &bytes), 0);
  EXPECT_EQ(bytes, 2u);
  EXPECT_STREQ(text, "!") << "no more than the capacity";
}

TEST_F(SessionTest, CancelsFromTheCallback) {
  create({2, 0, 2, 0});
  struct State {
    tfm_session *session;
    bool byReturn;
    int tokens = 0;
    std::map<size_t, tfm_stop> stops;
  };
  auto callback = [](void *user, const tfm_token *token) {
    State &state = *static_cast<State *>(user);
    if (token->finished)
      EXPECT_TRUE(state.stops.emplace(token->prompt, token->stop).second);
    else if (++state.tokens == 5 && !state.byReturn)
      tfm_cancel(state.session);
    return static_cast<int>(state.tokens == 5 && state.byReturn);
  };
  std::vector<Ids> prompts = makePrompts(3);
  std::vector<tfm_prompt> views;
  for (const Ids &ids : prompts)
    views.push_back({ids.data(), ids.size()});
  for (bool byReturn : {false, true}) {
    State state = {session, byReturn, 0, {}};
    EXPECT_EQ(
        tfm_generate(session, views.data(), 3, 50, &greedy, callback, &state),
        0);
    EXPECT_LE(state.tokens, 6);
    EXPECT_EQ(state.stops.size(), 3u);
    for (auto [prompt, stop] : state.stops)
      EXPECT_EQ(stop, TFM_STOP_CANCELLED);
  }
  check(generate({{5, 6}}, 3)[0], expect({5, 6}, 3)); // runs again
}

TEST_F(SessionTest, NamesWhatIsWrong) {
  tfm_session *none = nullptr;
  tfm_session_options options = {0, fakeContext + 1, 0, 0};
  EXPECT_EQ(tfm_session_create(program, &options, &none), -1);
  EXPECT_THAT(tfm_error(), HasSubstr("from 1 to 100, but got 101"));
  options = {-1, 0, 0, 0};
  EXPECT_EQ(tfm_session_create(program, &options, &none), -1);
  EXPECT_THAT(tfm_error(), HasSubstr("batch"));

  create({1, 16, 2, 0});
  auto run = [&](const Ids &ids) {
    tfm_prompt prompt = {ids.data(), ids.size()};
    std::vector<Continuation> results(1);
    EXPECT_EQ(tfm_generate(session, &prompt, 1, 4, &greedy, collect, &results),
              -1);
    return std::string(tfm_error());
  };
  EXPECT_THAT(run(Ids(17, 1)), HasSubstr("at most 16 tokens, the context, "
                                         "but got 17"));
  EXPECT_THAT(run({}), HasSubstr("at least 1 token"));
  EXPECT_THAT(run({1, fakeVocabulary}),
              HasSubstr("from 0 to 101, but got 102"));
  EXPECT_THAT(run({1, -1}), HasSubstr("but got -1"));
  EXPECT_THAT(run({1, fakePoison}), HasSubstr("'prefill' failed with code -9"));

  std::vector<float> logits(fakeVocabulary);
  int32_t id = 1;
  EXPECT_EQ(tfm_decode(session, 0, &id, logits.data()), -1);
  EXPECT_EQ(tfm_decode(session, 2, &id, logits.data()), -1);
  EXPECT_EQ(tfm_session_reset(session, 1), -1);
  EXPECT_THAT(tfm_error(), HasSubstr("a sample below 1, but got 1"));
  EXPECT_EQ(tfm_prefill(session, 0, &id, 1, logits.data()), 0);
  EXPECT_STREQ(tfm_error(), "");
}
