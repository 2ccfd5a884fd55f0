//===- tokenizer-json-test.cpp - Tokenizers of Hugging Face ---------------===//
//
// Against the ids and texts of the Hugging Face tokenizers library, and what
// is refused. test/data/README.md says how the data were made.
//
//===----------------------------------------------------------------------===//

#include "import/TokenizerJson.h"
#include "runtime/Tokenizer.h"

#include <chrono>
#include <cstring>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace mlir::tfm;
using nlohmann::json;
using testing::HasSubstr;

namespace {

/// A tokenizer as an executable has it.
class Compiled {
public:
  explicit Compiled(const TokenizerBlob &blob) {
    std::string bytes = blob.encode();
    words.resize(bytes.size() / 8 + 1);
    std::memcpy(words.data(), bytes.data(), bytes.size());
    ::tfm::Error error = tokenizer.create(
        words.data(), bytes.size(), static_cast<int32_t>(blob.tokens.size()));
    EXPECT_EQ(error.message(), "");
  }

  std::vector<int32_t> encode(std::string_view text) const {
    std::vector<int32_t> ids;
    EXPECT_EQ(tokenizer.encode(text, ids).message(), "");
    return ids;
  }
  std::string decode(const std::vector<int32_t> &ids) const {
    return tokenizer.decode(ids);
  }

private:
  std::vector<uint64_t> words;
  ::tfm::Tokenizer tokenizer;
};

json readData(const std::string &name) {
  return json::parse(
      std::ifstream(TFM_TEST_DATA "/tokenizers/" + name + ".json"));
}

class TokenizerJsonTest : public testing::TestWithParam<const char *> {};

INSTANTIATE_TEST_SUITE_P(Kinds, TokenizerJsonTest,
                         testing::Values("bert", "bert-cased", "gpt2", "llama2",
                                         "llama3", "mistral", "pieces", "qwen2",
                                         "roberta", "unigram", "unigram-bytes",
                                         "word-level"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

} // namespace

TEST_P(TokenizerJsonTest, GivesTheIdsAndTextsOfTheLibrary) {
  json data = readData(GetParam());
  auto tokenizer =
      HuggingFaceTokenizer::parse(data.at("tokenizer").dump(), 1000);
  ASSERT_TRUE(static_cast<bool>(tokenizer))
      << llvm::toString(tokenizer.takeError());
  Compiled compiled(tokenizer->blob);
  ASSERT_GE(data.at("cases").size(), 200u);
  for (const json &example : data.at("cases")) {
    auto text = example[0].get<std::string>();
    auto ids = example[1].get<std::vector<int32_t>>();
    EXPECT_EQ(compiled.encode(text), ids) << example[0];
    if (!example[2].is_null())
      EXPECT_EQ(compiled.decode(ids), example[2].get<std::string>())
          << example[0];
  }
}

TEST_P(TokenizerJsonTest, NoTextTakesLong) {
  auto tokenizer = HuggingFaceTokenizer::parse(
      readData(GetParam()).at("tokenizer").dump(), 1000);
  ASSERT_TRUE(static_cast<bool>(tokenizer));
  Compiled compiled(tokenizer->blob);
  auto start = std::chrono::steady_clock::now();
  // The last are combining marks, the one of the higher class first.
  for (std::string_view piece : {"a", " ", "\n", "1", "'", "-", " \n", "Word",
                                 " <Left>", "\xE4\xB8\xAD", "\u0301\u0323"}) {
    std::string text;
    for (size_t i = 0; i != 1 << 16; ++i)
      text += piece;
    EXPECT_FALSE(compiled.encode(text + "x").empty());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

// Files of 2020, such as RoBERTa's, don't name the model.
TEST_P(TokenizerJsonTest, FindsModelsWithoutAType) {
  json data = readData(GetParam()).at("tokenizer");
  auto tokenizer = HuggingFaceTokenizer::parse(data.dump(), 1000);
  ASSERT_TRUE(static_cast<bool>(tokenizer));
  data["model"].erase("type");
  auto old = HuggingFaceTokenizer::parse(data.dump(), 1000);
  ASSERT_TRUE(static_cast<bool>(old)) << llvm::toString(old.takeError());
  EXPECT_TRUE(old->blob.encode() == tokenizer->blob.encode());
}

// Vocabularies of bytes keep them; others see one U+FFFD for each run, which
// BERT's normalizer drops.
TEST(TokenizerJson, ReadsBytesThatAreNotUtf8) {
  auto encode = [](const char *name, std::string_view text) {
    auto tokenizer = HuggingFaceTokenizer::parse(
        readData(name).at("tokenizer").dump(), 1000);
    EXPECT_TRUE(static_cast<bool>(tokenizer));
    return Compiled(tokenizer->blob).encode(text);
  };
  for (const char *name : {"bert", "mistral", "unigram", "word-level"})
    EXPECT_EQ(encode(name, "the\xFF\xC3 the\xE2\x82"),
              encode(name, "the\uFFFD the\uFFFD"))
        << name;
  EXPECT_EQ(encode("bert", "th\xFF"
                           "e"),
            encode("bert", "the"));

  auto tokenizer = HuggingFaceTokenizer::parse(
      readData("qwen2").at("tokenizer").dump(), 1000);
  ASSERT_TRUE(static_cast<bool>(tokenizer));
  Compiled compiled(tokenizer->blob);
  std::string text = "the\xFF\xC3 the\xE2\x82";
  EXPECT_EQ(compiled.decode(compiled.encode(text)), text);
}

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

namespace {

/// A small valid file, and what breaks it.
struct TokenizerJsonErrors : testing::Test {
  json file = json::parse(R"({
    "version": "1.0",
    "truncation": {"max_length": 8, "strategy": "LongestFirst", "stride": 0},
    "padding": {"strategy": {"Fixed": 128}},
    "added_tokens": [{"id": 4, "content": "<s>", "special": true,
      "normalized": false, "lstrip": false, "rstrip": false,
      "single_word": false}],
    "normalizer": {"type": "Sequence", "normalizers": [
      {"type": "NFC"},
      {"type": "Replace", "pattern": {"Regex": "x+"}, "content": "a"}]},
    "pre_tokenizer": {"type": "Split", "pattern": {"String": " "},
      "behavior": "Removed", "invert": false},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                 {"Sequence": {"id": "A", "type_id": 0}}],
      "pair": [],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [4], "tokens": ["<s>"]}}},
    "decoder": {"type": "Sequence", "decoders": [
      {"type": "Fuse"},
      {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
    "model": {"type": "BPE", "dropout": null, "unk_token": "a",
      "continuing_subword_prefix": null, "end_of_word_suffix": null,
      "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
      "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}})");

  /// The message about the file with another value at `place`.
  std::string change(const char *place, const json &value) {
    json changed = file;
    if (value.is_discarded())
      changed =
          changed.patch(json::array({{{"op", "remove"}, {"path", place}}}));
    else
      changed[json::json_pointer(place)] = value;
    return parse(changed.dump());
  }
  std::string remove(const char *place) {
    return change(place, json(json::value_t::discarded));
  }
  std::string parse(const std::string &text, int64_t vocabulary = 6) {
    auto tokenizer = HuggingFaceTokenizer::parse(text, vocabulary);
    return tokenizer ? "" : llvm::toString(tokenizer.takeError());
  }

  void SetUp() override { ASSERT_EQ(parse(file.dump()), ""); }
};

} // namespace

TEST_F(TokenizerJsonErrors, Syntax) {
  EXPECT_THAT(parse(""), HasSubstr("tokenizer.json: "));
  EXPECT_THAT(parse("{\"a\": 1, \"a\": 2}"), HasSubstr("each key once"));
  EXPECT_THAT(parse(std::string(100000, '[')), HasSubstr("nesting"));
  EXPECT_THAT(parse("[]"), HasSubstr("expects an object, but got []"));
}

TEST_F(TokenizerJsonErrors, UnknownParts) {
  EXPECT_EQ(change("/normalizer/normalizers/0/type", "Nmt"),
            "tokenizer.json: normalizer.normalizers[0].type: expects one of "
            "\"Sequence\", \"NFC\", \"NFD\", \"NFKC\", \"NFKD\", "
            "\"Lowercase\", \"StripAccents\", \"Strip\", \"Replace\", "
            "\"Prepend\", \"BertNormalizer\", but got \"Nmt\"");
  EXPECT_THAT(change("/pre_tokenizer/type", "UnicodeScripts"),
              HasSubstr("pre_tokenizer.type: expects one of"));
  EXPECT_THAT(change("/post_processor/type", 5),
              HasSubstr("post_processor.type: expects one of"));
  EXPECT_THAT(change("/decoder/decoders/1/type", "CTC"),
              HasSubstr("decoder.decoders[1].type: expects one of"));
  EXPECT_THAT(change("/model/type", "Wordy"),
              HasSubstr("model.type: expects one of \"BPE\", \"WordPiece\", "
                        "\"WordLevel\", \"Unigram\", but got \"Wordy\""));
  EXPECT_THAT(remove("/decoder/type"),
              HasSubstr("decoder.type: expects a value, but got no such key"));
}

TEST_F(TokenizerJsonErrors, UnknownFields) {
  for (const char *place :
       {"/new", "/model/new", "/normalizer/new", "/pre_tokenizer/new",
        "/normalizer/normalizers/0/new", "/decoder/decoders/0/new",
        "/decoder/new", "/post_processor/new", "/added_tokens/0/new",
        "/truncation/new", "/normalizer/normalizers/1/pattern/new",
        "/post_processor/single/0/new", "/post_processor/single/1/Sequence/new",
        "/post_processor/special_tokens/<s>/new"})
    EXPECT_THAT(change(place, 7),
                HasSubstr("new: expects no such key, since what it does is "
                          "unknown, but got 7"))
        << place;
}

TEST_F(TokenizerJsonErrors, ValuesOfOtherKinds) {
  // Null is as good as no value for these.
  for (const char *place : {"/model/merges",
                            "/model/vocab",
                            "/model/merges/0",
                            "/model/vocab/a",
                            "/added_tokens/0",
                            "/added_tokens/0/id",
                            "/added_tokens/0/content",
                            "/added_tokens/0/lstrip",
                            "/model",
                            "/post_processor/single",
                            "/post_processor/single/0",
                            "/post_processor/special_tokens",
                            "/post_processor/special_tokens/<s>/ids",
                            "/post_processor/special_tokens/<s>/ids/0",
                            "/normalizer/normalizers",
                            "/normalizer/normalizers/1/content",
                            "/normalizer/normalizers/1/pattern",
                            "/pre_tokenizer/pattern",
                            "/decoder/decoders/1/start",
                            "/truncation/max_length"}) {
    EXPECT_THAT(change(place, nullptr), HasSubstr("expects ")) << place;
    EXPECT_THAT(change(place, 1.5), HasSubstr("expects ")) << place;
  }
  for (const char *place :
       {"/model/unk_token", "/model/byte_fallback",
        "/model/continuing_subword_prefix", "/model/dropout", "/added_tokens",
        "/normalizer", "/pre_tokenizer", "/decoder", "/truncation",
        "/pre_tokenizer/behavior", "/pre_tokenizer/invert", "/version",
        "/decoder/decoders/1/content"})
    EXPECT_THAT(change(place, 1.5), HasSubstr("expects ")) << place;
}

TEST_F(TokenizerJsonErrors, Ids) {
  EXPECT_THAT(change("/model/vocab/a", 6),
              HasSubstr("model.vocab[\"a\"]: expects a token below the "
                        "vocabulary's size V = 6, but got 6"));
  EXPECT_THAT(change("/model/vocab/a", -1), HasSubstr("from 0 to"));
  EXPECT_THAT(change("/model/vocab/a", 18446744073709551615ull),
              HasSubstr("from 0 to"));
  EXPECT_THAT(change("/model/vocab/b", 0),
              HasSubstr("expects an id of its own, but got 0"));
  EXPECT_THAT(change("/added_tokens/0/id", 0),
              HasSubstr("expects \"a\" as 0, but got \"<s>\""));
  EXPECT_THAT(change("/added_tokens/0/content", "b"),
              HasSubstr("added_tokens[0]: expects \"b\" as 1, but got 4"));
  EXPECT_THAT(change("/added_tokens/1", file["added_tokens"][0]),
              HasSubstr("expects each token once, but got \"<s>\" again"));
  EXPECT_THAT(change("/post_processor/special_tokens/<s>/ids/0", 6),
              HasSubstr("below the vocabulary's size"));
  EXPECT_THAT(change("/post_processor/single/0/SpecialToken/id", "<t>"),
              HasSubstr("expects one of the template's special_tokens, but "
                        "got \"<t>\""));
  EXPECT_THAT(change("/model/unk_token", "c"),
              HasSubstr("model.unk_token: expects a token of the vocabulary, "
                        "but got \"c\""));
  EXPECT_THAT(parse(file.dump(), 0), HasSubstr("vocabulary of 1 to"));
}

TEST_F(TokenizerJsonErrors, Merges) {
  EXPECT_EQ(change("/model/merges/0", "a b"), "");
  EXPECT_EQ(change("/model/merges/0", {"b", "a"}),
            "tokenizer.json: model.merges[0]: expects two tokens that make a "
            "third, but got [\"b\",\"a\"]");
  for (const json &merge : {json("ab"), json("a  b"), json("a b c"), json(""),
                            json({"a"}), json({"a", "b", "c"}), json({1, 2})})
    EXPECT_THAT(change("/model/merges/0", merge), HasSubstr("model.merges[0]"))
        << merge;
  EXPECT_THAT(change("/model/merges/1", {"a", "b"}),
              HasSubstr("model.merges[1]: expects each merge once"));
  EXPECT_THAT(change("/model/dropout", 0.1), HasSubstr("expects null"));
}

TEST_F(TokenizerJsonErrors, Unigrams) {
  file["model"] = json::parse(R"({"type": "Unigram", "unk_id": 0,
    "vocab": [["a", -1.0], ["b", -2]], "byte_fallback": false})");
  SetUp();
  EXPECT_THAT(change("/model/vocab/2", {"a", 1.0}),
              HasSubstr("model.vocab[2]: expects each token once, but got "
                        "\"a\" as 0 and 2"));
  EXPECT_THAT(change("/model/vocab/0/1", "x"), HasSubstr("expects a number"));
  EXPECT_THAT(change("/model/vocab/0", {"a"}), HasSubstr("and its score"));
  EXPECT_THAT(change("/model/unk_id", 2),
              HasSubstr("one of the 2 tokens of the model"));
  EXPECT_THAT(parse(file.dump(), 1), HasSubstr("vocabulary's size V = 1"));
}

TEST_F(TokenizerJsonErrors, Templates) {
  EXPECT_THAT(change("/post_processor/single/0/SpecialToken/type_id", 1),
              HasSubstr("expects 0, since a text has one type only"));
  EXPECT_THAT(remove("/post_processor/single/1"),
              HasSubstr("expects a template with the text"));
  EXPECT_THAT(
      change("/post_processor/single/2", file["post_processor"]["single"][1]),
      HasSubstr("expects \"A\", once"));
  EXPECT_THAT(change("/post_processor", {{"type", "BertProcessing"},
                                         {"cls", {"<s>", 9}},
                                         {"sep", {"<s>", 4}}}),
              HasSubstr("post_processor.cls[1]: expects a token below"));
  EXPECT_THAT(change("/truncation/direction", "Left"),
              HasSubstr("expects \"Right\""));
}

TEST_F(TokenizerJsonErrors, DecodersThatWantAllTokens) {
  EXPECT_THAT(change("/decoder/decoders/1/stop", 1),
              HasSubstr("behind what fuses tokens"));
  EXPECT_THAT(change("/decoder/decoders/1", {{"type", "ByteFallback"}}),
              HasSubstr("behind what fuses tokens"));
  EXPECT_THAT(change("/decoder/decoders/2", file["decoder"]["decoders"][1]),
              HasSubstr("behind what fuses tokens"));
}

TEST_F(TokenizerJsonErrors, Patterns) {
  const char *place = "/normalizer/normalizers/1/pattern/Regex";
  for (const char *pattern :
       {R"(\s+(?!\S)|[^\s\w]|\W\d\D)", R"(a++|b*?|[\r\n]{2,3}|(?>c))",
        R"(^x$|\Ay\z|\u0041|\x{41}|\.)", R"((?i:'ſ)|(?<=a)b(?<!c)d)"})
    EXPECT_EQ(change(place, pattern), "") << pattern;
  for (auto [pattern, message] :
       {std::pair(R"([a[bc]])", "without a class in a class"),
        std::pair(R"([a&&b])", "without an intersection of classes"),
        std::pair(R"([\S])", R"(without '\S' in a class)"),
        std::pair(R"(\bx)", R"(without '\b')"),
        std::pair(R"(a{2}+)", "without '+' behind a count"),
        std::pair(R"(a{,2})", "without '{' but for counts"),
        std::pair(R"((?<n>a))", "without '(?<'"),
        std::pair(R"((*ACCEPT))", "without '(*A'"),
        std::pair(R"(\1)", R"(without '\1')"),
        std::pair(R"(\pL)", "without a property without braces"),
        std::pair(R"(a\)", R"(without '\' at its end)"),
        std::pair(R"((a)", "missing closing parenthesis"),
        std::pair(R"(\p{Klingon})", "unknown property"),
        std::pair("", "expects a pattern")})
    EXPECT_THAT(change(place, pattern), HasSubstr(message)) << pattern;
}

TEST_F(TokenizerJsonErrors, ManySteps) {
  for (int i = 0; i != 300; ++i)
    file["normalizer"]["normalizers"].push_back({{"type", "NFC"}});
  EXPECT_THAT(parse(file.dump()),
              HasSubstr("expects at most 256 steps, but got 257"));
}

//===----------------------------------------------------------------------===//
// vocab.txt
//===----------------------------------------------------------------------===//

namespace {
constexpr char kWords[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n##s\ncaf\n"
                          "##\xC3\xA9\n##e\n\xE4\xB8\xAD\n!\r\n";

std::string failure(const std::string &words, const std::string &config) {
  auto tokenizer = HuggingFaceTokenizer::parseVocabulary(words, config, 12);
  return tokenizer ? "" : llvm::toString(tokenizer.takeError());
}

std::vector<int32_t> encode(const std::string &config,
                            const std::string &text) {
  auto tokenizer = HuggingFaceTokenizer::parseVocabulary(kWords, config, 12);
  EXPECT_TRUE(static_cast<bool>(tokenizer));
  return Compiled(tokenizer->blob).encode(text);
}
} // namespace

TEST(VocabularyText, IsBerts) {
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(encode("{}", "THES Caf\u00E9![MASK]"),
            Ids({2, 5, 6, 7, 9, 11, 4, 3}));
  EXPECT_EQ(encode(R"({"do_lower_case": false})", "THE caf\u00E9"),
            Ids({2, 1, 7, 8, 3}));
  EXPECT_EQ(encode(R"({"strip_accents": false})", "CAF\u00C9"),
            Ids({2, 7, 8, 3}));
  EXPECT_EQ(encode("{}", "the\u4E2D"), Ids({2, 5, 10, 3}));
  EXPECT_EQ(encode(R"({"tokenize_chinese_chars": false})", "the\u4E2D"),
            Ids({2, 1, 3}));
  EXPECT_EQ(
      encode(R"({"cls_token": {"content": "the"}, "sep_token": "!"})", "caf"),
      Ids({5, 7, 11}));
  auto tokenizer = HuggingFaceTokenizer::parseVocabulary(
      kWords, R"({"model_max_length": 512})", 12);
  ASSERT_TRUE(static_cast<bool>(tokenizer));
  EXPECT_EQ(tokenizer->longest, 512);
}

TEST(VocabularyText, IsChecked) {
  std::string words = kWords;
  EXPECT_EQ(failure(words, "{}"), "");
  EXPECT_THAT(failure(words + "the\n", "{}"),
              HasSubstr("vocab.txt: expects at most the vocabulary's size V = "
                        "12 tokens, but got 13"));
  EXPECT_THAT(failure("a\nb\na\n", "{}"),
              HasSubstr("vocab.txt: line 3: expects each token once, but got "
                        "\"a\" as 0 and 2"));
  EXPECT_THAT(failure("a\nb\n", "{}"),
              HasSubstr("tokenizer_config.json: unk_token: expects a token of "
                        "the vocabulary, but got \"[UNK]\""));
  for (const char *config :
       {R"({"tokenizer_class": "GPT2Tokenizer"})",
        R"({"do_basic_tokenize": false})", R"({"never_split": ["a"]})",
        R"({"new": 1})", R"({"do_lower_case": 1})", R"({"cls_token": 5})",
        R"({"cls_token": {}})", R"({"model_max_length": 0})", "[]", "{"})
    EXPECT_THAT(failure(words, config), HasSubstr("tokenizer_config.json: "))
        << config;
}
