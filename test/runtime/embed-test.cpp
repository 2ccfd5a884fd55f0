//===- embed-test.cpp - Embeddings through tfm.h --------------------------===//
//
// On the model of FakeEncoder.cpp, whose answers are worked out by its formula.
//
//===----------------------------------------------------------------------===//

#include "runtime/include/tfm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <string>
#include <vector>

using testing::HasSubstr;

namespace {

using Ids = std::vector<int32_t>;

class EmbedTest : public testing::Test {
protected:
  void SetUp() override { ASSERT_EQ(tfm_open(&program), 0) << tfm_error(); }
  void TearDown() override {
    tfm_session_destroy(session);
    tfm_close(program);
  }

  void create(tfm_session_options options) {
    ASSERT_EQ(tfm_session_create(program, &options, &session), 0)
        << tfm_error();
  }

  int embed(const std::vector<Ids> &texts) {
    std::vector<tfm_prompt> prompts;
    for (const Ids &text : texts)
      prompts.push_back({text.data(), text.size()});
    embeddings.assign(3 * texts.size(), -1);
    return tfm_embed(session, prompts.data(), prompts.size(),
                     embeddings.data());
  }

  tfm_program *program = nullptr;
  tfm_session *session = nullptr;
  std::vector<float> embeddings;
};

TEST_F(EmbedTest, SaysHowLongAnEmbeddingIs) {
  tfm_info info;
  tfm_get_info(program, &info);
  EXPECT_EQ(info.embedding, 3);
}

TEST_F(EmbedTest, TextsOfOneLengthRunTogether) {
  create({4, 0, 2, 0});
  std::vector<Ids> texts;
  std::map<size_t, int> left; // texts of a length that have not run
  for (int i = 0; i < 23; ++i) {
    texts.push_back(Ids(1 + i * i % 5, i));
    ++left[texts.back().size()];
  }
  ASSERT_EQ(embed(texts), 0) << tfm_error();
  for (int i = 0; i < 23; ++i) {
    int number = static_cast<int>(texts[i].size());
    EXPECT_EQ(embeddings[3 * i], i * number);
    EXPECT_EQ(embeddings[3 * i + 1], number);
    EXPECT_EQ(embeddings[3 * i + 2], std::min(4, left[number]));
    // The last of its call?
    int before = 0;
    for (int j = 0; j <= i; ++j)
      before += texts[j].size() == texts[i].size();
    if (before % 4 == 0)
      left[number] -= 4;
  }
}

TEST_F(EmbedTest, LongTextsFitTheArena) {
  create({64, 0, 1, 0});
  ASSERT_EQ(embed(std::vector<Ids>(64, Ids(40, 2))), 0) << tfm_error();
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(embeddings[3 * i], 80);
  // 512 rows at a time.
  EXPECT_EQ(embeddings[2], 12);
}

TEST_F(EmbedTest, NoTextsNoEmbeddings) {
  create({});
  EXPECT_EQ(embed({}), 0) << tfm_error();
}

TEST_F(EmbedTest, RefusesWhatTheModelCannotTake) {
  create({});
  EXPECT_EQ(embed({{1}, {}}), -1);
  EXPECT_THAT(tfm_error(), HasSubstr("at least 1 token"));
  EXPECT_EQ(embed({{1}, Ids(41, 1)}), -1);
  EXPECT_THAT(tfm_error(), HasSubstr("at most 40 tokens"));
  EXPECT_EQ(embed({{1, 102}}), -1);
  EXPECT_THAT(tfm_error(), HasSubstr("from 0 to 101, but got 102"));
  EXPECT_EQ(embed({{1}, {101}}), -1);
  EXPECT_THAT(tfm_error(), HasSubstr("failed with code -9"));
}

TEST_F(EmbedTest, DoesNotGenerate) {
  create({});
  int32_t id = 1;
  float logits;
  EXPECT_EQ(tfm_prefill(session, 0, &id, 1, &logits), -1);
  EXPECT_THAT(tfm_error(), HasSubstr("no entry point 'prefill'"));
}

} // namespace
