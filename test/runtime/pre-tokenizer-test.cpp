//===- pre-tokenizer-test.cpp - Token ids by every pre-tokenizer ----------===//
//
// Against the ids of the Hugging Face tokenizers library on the same
// vocabulary; test/data/README.md says how they were made.
//
//===----------------------------------------------------------------------===//

#include "runtime/Nfc.h"
#include "runtime/Tokenizer.h"
#include "test/runtime/TokenizerBlob.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace tfm;
using namespace tfm::test;
using nlohmann::json;

namespace {

struct Kind {
  const char *name;
  tfm_pre_tokenizer number;
};

const json &reference() {
  static const json data =
      json::parse(std::ifstream(TFM_TEST_DATA "/pre_tokenizers.json"));
  return data;
}

class PreTokenizerTest : public testing::TestWithParam<Kind> {
protected:
  void SetUp() override { create(/*missing=*/json::array()); }

  /// Takes the reference's vocabulary without some tokens and their merges.
  void create(const json &missing) {
    auto isMissing = [&](const json &token) {
      return std::find(missing.begin(), missing.end(), token) != missing.end();
    };
    TokenizerBlob blob;
    blob.preTokenizer = GetParam().number;
    auto add = [&](const char *key, tfm_token_type type) {
      for (const json &text : reference().at(key))
        if (!isMissing(text))
          blob.tokens.push_back({text.get<std::string>(), type});
    };
    add("tokens", TFM_TOKEN_NORMAL);
    add("control", TFM_TOKEN_CONTROL);
    add("user_defined", TFM_TOKEN_USER_DEFINED);
    for (const json &merge : reference().at("merges"))
      if (!isMissing(merge[0]) && !isMissing(merge[1]))
        blob.merges.push_back({merge[0], merge[1]});
    uint64_t bytes;
    words = blob.write(bytes);
    tokenizer = Tokenizer();
    Error error = tokenizer.create(words.data(), bytes,
                                   static_cast<int32_t>(blob.tokens.size()));
    ASSERT_EQ(error.message(), "");
  }

  std::vector<int32_t> encode(std::string_view text) {
    std::vector<int32_t> ids;
    EXPECT_EQ(tokenizer.encode(text, ids).message(), "");
    return ids;
  }

  void expectIdsOf(const char *cases) {
    for (const json &example : reference().at(cases)) {
      auto text = example.at("text").get<std::string>();
      EXPECT_EQ(
          encode(text),
          example.at("ids").at(GetParam().name).get<std::vector<int32_t>>())
          << example.at("text");
    }
  }

  std::vector<uint64_t> words;
  Tokenizer tokenizer;
};

INSTANTIATE_TEST_SUITE_P(
    Kinds, PreTokenizerTest,
    testing::Values(Kind{"smollm", TFM_PRE_TOKENIZER_SMOLLM},
                    Kind{"gpt-2", TFM_PRE_TOKENIZER_GPT2},
                    Kind{"llama-bpe", TFM_PRE_TOKENIZER_LLAMA_BPE},
                    Kind{"qwen2", TFM_PRE_TOKENIZER_QWEN2}),
    [](const auto &info) {
      std::string name = info.param.name;
      std::erase(name, '-');
      return name;
    });

} // namespace

TEST_P(PreTokenizerTest, GivesTheIdsOfTheReference) { expectIdsOf("cases"); }

TEST_P(PreTokenizerTest, LeavesOutBytesThatHaveNoToken) {
  create(reference().at("missing"));
  expectIdsOf("incomplete");
}

TEST_P(PreTokenizerTest, DecodesToTheText) {
  for (const json &example : reference().at("cases")) {
    auto text = example.at("text").get<std::string>();
    std::string decoded;
    for (int32_t id : encode(text))
      tokenizer.decode(id, decoded);
    EXPECT_EQ(decoded, example.at("decoded").value(GetParam().name, text))
        << example.at("text");
  }
}

TEST_P(PreTokenizerTest, LosesNoByteThatIsNotUtf8) {
  // Each byte has a token, so all come back.
  for (std::string text : {"a\xFF", "\xC3 \xA9", "e\xCC", "1\xE2\x82",
                           "\xED\xA0\x80", "\xF4\x90\x80\x80 x"}) {
    std::string decoded;
    for (int32_t id : encode(text))
      tokenizer.decode(id, decoded);
    EXPECT_EQ(decoded, text);
  }
}

TEST_P(PreTokenizerTest, NoTextTakesLong) {
  auto start = std::chrono::steady_clock::now();
  constexpr size_t count = 1 << 18;
  // The last are combining marks, the one of the higher class first.
  for (std::string_view piece :
       {"a", " ", "\n", "1", "'", "!", " \n", "\xCC\x81\xCC\xA3"}) {
    std::string text;
    for (size_t i = 0; i != count; ++i)
      text += piece;
    EXPECT_FALSE(encode(text + "x").empty());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(Nfc, ComposesAndOrders) {
  EXPECT_EQ(toNfc(""), "");
  EXPECT_EQ(toNfc("plain"), "plain");
  EXPECT_EQ(toNfc("e\u0301"), "\u00E9");
  EXPECT_EQ(toNfc("q\u0307\u0323"), "q\u0323\u0307");
  EXPECT_EQ(toNfc("\u1100\u1161\u11A8"), "\uAC01");
  EXPECT_EQ(toNfc("\u212B"), "\u00C5");
  // A syllable without a final consonant, and a vowel.
  EXPECT_EQ(toNfc("\uAC00\u11A7"), "\uAC00\u11A7");
  // Four characters, the longest decomposition, and back.
  EXPECT_EQ(toNfc("\u1F82"), "\u1F82");
  // The byte between them is no character: nothing composes over it.
  EXPECT_EQ(toNfc("e\xFF\u0301"), "e\xFF\u0301");
}
