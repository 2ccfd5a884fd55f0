//===- pre-tokenizer-test.cpp - Token ids by every pre-tokenizer ----------===//
//
// Against the ids of the Hugging Face tokenizers library on the same
// vocabulary; test/data/README.md says how they were made.
//
//===----------------------------------------------------------------------===//

#include "import/GgufTokenizer.h"
#include "runtime/Tokenizer.h"
#include "test/import/GgufWriter.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace mlir::tfm;
using nlohmann::json;
using W = GgufWriter;

namespace {

const json &reference() {
  static const json data =
      json::parse(std::ifstream(TFM_TEST_DATA "/pre_tokenizers.json"));
  return data;
}

class PreTokenizerTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override { create(/*missing=*/json::array()); }

  /// Takes the reference's vocabulary without some tokens and their merges.
  void create(const json &missing) {
    auto isMissing = [&](const json &token) {
      return std::find(missing.begin(), missing.end(), token) != missing.end();
    };
    std::vector<std::string> tokens, merges;
    std::string types;
    auto add = [&](const char *key, int32_t type) {
      for (const json &text : reference().at(key))
        if (!isMissing(text)) {
          tokens.push_back(text);
          types += W::number(type);
        }
    };
    add("tokens", 1);
    add("control", 3);
    add("user_defined", 4);
    for (const json &merge : reference().at("merges"))
      if (!isMissing(merge[0]) && !isMissing(merge[1]))
        merges.push_back(merge[0].get<std::string>() + " " +
                         merge[1].get<std::string>());
    GgufWriter writer;
    writer.key("tokenizer.ggml.model", W::String, W::string("gpt2"));
    writer.key("tokenizer.ggml.pre", W::String, W::string(GetParam()));
    writer.key("tokenizer.ggml.bos_token_id", W::U32, W::number<uint32_t>(0));
    writer.key("tokenizer.ggml.tokens", W::Array, W::strings(tokens));
    writer.key("tokenizer.ggml.token_type", W::Array,
               W::array(W::I32, tokens.size()) + types);
    writer.key("tokenizer.ggml.merges", W::Array, W::strings(merges));

    llvm::Expected<GgufFile> file = GgufFile::parse(
        llvm::MemoryBuffer::getMemBufferCopy(writer.str()), "test.gguf");
    ASSERT_TRUE(static_cast<bool>(file));
    llvm::Expected<GgufTokenizer> read = GgufTokenizer::read(*file);
    ASSERT_TRUE(static_cast<bool>(read)) << llvm::toString(read.takeError());
    std::string blob = read->blob.encode();
    words.assign(blob.size() / 8 + 1, 0);
    std::memcpy(words.data(), blob.data(), blob.size());
    ::tfm::Error error = tokenizer.create(words.data(), blob.size(),
                                          static_cast<int32_t>(tokens.size()));
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
      EXPECT_EQ(encode(text),
                example.at("ids").at(GetParam()).get<std::vector<int32_t>>())
          << example.at("text");
    }
  }

  std::vector<uint64_t> words;
  ::tfm::Tokenizer tokenizer;
};

INSTANTIATE_TEST_SUITE_P(Kinds, PreTokenizerTest,
                         testing::Values("smollm", "gpt-2", "llama-bpe",
                                         "qwen2"),
                         [](const auto &info) {
                           std::string name = info.param;
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
    std::string decoded = tokenizer.decode(encode(text));
    EXPECT_EQ(decoded, example.at("decoded").value(GetParam(), text))
        << example.at("text");
  }
}

TEST_P(PreTokenizerTest, LosesNoByteThatIsNotUtf8) {
  // Each byte has a token, so all come back.
  for (std::string text : {"a\xFF", "\xC3 \xA9", "e\xCC", "1\xE2\x82",
                           "\xED\xA0\x80", "\xF4\x90\x80\x80 x"}) {
    std::string decoded = tokenizer.decode(encode(text));
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
