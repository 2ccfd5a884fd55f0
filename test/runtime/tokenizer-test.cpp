//===- tokenizer-test.cpp - Byte-level BPE --------------------------------===//
//
// On a vocabulary small enough to merge by hand: all bytes, a few merges and
// special tokens.
//
//===----------------------------------------------------------------------===//

#include "runtime/Program.h"
#include "runtime/Tokenizer.h"
#include "runtime/include/tfm_abi.h"
#include "test/runtime/FakeModel.h"
#include "test/runtime/TokenizerBlob.h"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tfm;
using namespace tfm::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

// Ids 0 .. 93 are '!' .. '~'. "Ġ" is the space, "Ċ" the line feed.
enum Ids : int32_t {
  Space = 94,
  Newline,
  E2, // the bytes of "€", E2 82 AC
  X82,
  AC,
  Digit12, // "12", which no word can hold
  ab,
  bc,
  abc,
  aa,
  SpaceA,
  TwoSpaces,
  Start,
  StartLong,
  User,
  Unused,
  Byte0A,
  Count
};

int32_t charId(char c) { return c - '!'; }

TokenizerBlob makeBlob() {
  TokenizerBlob blob;
  for (char c = '!'; c <= '~'; ++c)
    blob.tokens.push_back({std::string(1, c), TokenKind::Word});
  // In GPT-2's alphabet 0x82 is U+0124, 0xAC itself and 0xE2 itself.
  for (const char *text :
       {"Ġ", "Ċ", "â", "Ĥ", "¬", "12", "ab", "bc", "abc", "aa", "Ġa", "ĠĠ"})
    blob.tokens.push_back({text, TokenKind::Word});
  blob.tokens.push_back({"<s>", TokenKind::Control});
  blob.tokens.push_back({"<s>>", TokenKind::Control});
  blob.tokens.push_back({"<user é>", TokenKind::User});
  blob.tokens.push_back({"<unused>", TokenKind::Unused});
  blob.tokens.push_back({"<0x0A>", TokenKind::Unused});
  blob.merges = {{"b", "c"}, {"a", "b"}, {"a", "bc"}, {"a", "a"},
                 {"Ġ", "a"}, {"Ġ", "Ġ"}, {"1", "2"}};
  return blob;
}

class TokenizerTest : public testing::Test {
protected:
  void SetUp() override { ASSERT_EQ(create(makeBlob()), ""); }

  std::string create(const TokenizerBlob &blob) {
    words = blob.write(bytes);
    return Tokenizer()
        .create(words.data(), bytes, static_cast<int32_t>(blob.tokens.size()))
        .message();
  }

  std::vector<int32_t> encode(std::string_view text) {
    Tokenizer tokenizer;
    EXPECT_FALSE(tokenizer.create(words.data(), bytes, Count));
    std::vector<int32_t> ids;
    Error error = tokenizer.encode(text, ids);
    EXPECT_EQ(error.message(), "");
    return ids;
  }

  std::string decode(const std::vector<int32_t> &ids) {
    Tokenizer tokenizer;
    EXPECT_FALSE(tokenizer.create(words.data(), bytes, Count));
    return tokenizer.decode(ids);
  }

  std::vector<uint64_t> words;
  uint64_t bytes = 0;
};

} // namespace

TEST_F(TokenizerTest, MergesLowestRankFirst) {
  EXPECT_THAT(encode(""), ElementsAre());
  // "b c" ranks before "a b", so it is a + bc, then abc.
  EXPECT_THAT(encode("abc"), ElementsAre(abc));
  EXPECT_THAT(encode("abab"), ElementsAre(ab, ab));
  // Equal ranks: leftmost first.
  EXPECT_THAT(encode("aaa"), ElementsAre(aa, charId('a')));
  EXPECT_THAT(encode("xabcx"), ElementsAre(charId('x'), abc, charId('x')));
}

TEST_F(TokenizerTest, CutsWordsAsGpt2) {
  // The last space belongs to the word behind it.
  EXPECT_THAT(encode("x  a"), ElementsAre(charId('x'), Space, SpaceA));
  // At the end of the text all of them are one word.
  EXPECT_THAT(encode("x  "), ElementsAre(charId('x'), TwoSpaces));
  EXPECT_THAT(encode("\n\n"), ElementsAre(Newline, Newline));
  // "'s" is a word, so nothing merges over it.
  EXPECT_THAT(encode("a'sa"),
              ElementsAre(charId('a'), charId('\''), charId('s'), charId('a')));
}

TEST_F(TokenizerTest, EachDigitIsAWord) {
  EXPECT_THAT(encode("12"), ElementsAre(charId('1'), charId('2')));
  // And the text before a digit ends there: both spaces are one word.
  EXPECT_THAT(encode("  1"), ElementsAre(TwoSpaces, charId('1')));
}

TEST_F(TokenizerTest, FindsTheLongestSpecialToken) {
  EXPECT_THAT(encode("<s>"), ElementsAre(Start));
  EXPECT_THAT(encode("<s>>"), ElementsAre(StartLong));
  EXPECT_THAT(encode("a<s>b<user é>"),
              ElementsAre(charId('a'), Start, charId('b'), User));
  EXPECT_THAT(encode("<s"), ElementsAre(charId('<'), charId('s')));
  // Merges do not reach over a special token; unused ones are plain text.
  EXPECT_THAT(encode("a<s>bc"), ElementsAre(charId('a'), Start, bc));
  EXPECT_EQ(encode("<unused>").size(), 8u);
}

TEST_F(TokenizerTest, SpellsInvalidUtf8ByteByByte) {
  EXPECT_THAT(encode("\xE2\x82\xAC"), ElementsAre(E2, X82, AC));
  EXPECT_THAT(encode("a\xE2\x82"), ElementsAre(charId('a'), E2, X82));
  EXPECT_THAT(encode("\x82 a\xE2"), ElementsAre(X82, SpaceA, E2));
  // The vocabulary has no token for the byte FF.
  EXPECT_THAT(encode("a\xFF"), ElementsAre(charId('a')));
}

TEST_F(TokenizerTest, Decodes) {
  EXPECT_EQ(decode({abc, SpaceA, Newline}), "abc a\n");
  EXPECT_EQ(decode({Start, User, Byte0A, Unused}), "<user é>\n<unused>");
  EXPECT_EQ(decode({-1, Count}), "");
}

TEST_F(TokenizerTest, StreamsWholeCharacters) {
  Tokenizer tokenizer;
  ASSERT_FALSE(tokenizer.create(words.data(), bytes, Count));
  StreamDecoder stream(tokenizer);
  EXPECT_EQ(stream.append(E2, false), "");
  EXPECT_EQ(stream.append(X82, false), "");
  EXPECT_EQ(stream.append(AC, false), "€");
  EXPECT_EQ(stream.append(charId('a'), false), "a");
  // What cannot become a character is not held back.
  EXPECT_EQ(stream.append(X82, false), "\x82");
  EXPECT_EQ(stream.append(E2, false), "");
  EXPECT_EQ(stream.append(charId('a'), false), "\xE2"
                                               "a");
  EXPECT_EQ(stream.append(E2, true), "\xE2");
}

TEST_F(TokenizerTest, LongWordsTakeNoLongTime) {
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(encode(std::string(1 << 20, 'a')).size(), 1u << 19);
  EXPECT_EQ(encode(std::string(1 << 20, ' ')).size(), 1u << 19);
  EXPECT_EQ(encode(std::string(1 << 20, '1')).size(), 1u << 20);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_F(TokenizerTest, NamesWhatIsWrongWithABlob) {
  auto withFields = [&](auto change) {
    std::vector<uint64_t> changed = words;
    change(*reinterpret_cast<tfm_tokenizer_header *>(changed.data()));
    return Tokenizer().create(changed.data(), bytes, Count).message();
  };
  using Header = tfm_tokenizer_header;
  EXPECT_THAT(withFields([](Header &header) { header.magic = 0; }),
              HasSubstr("TFMTOKEN"));
  EXPECT_THAT(withFields([](Header &header) { header.version = 9; }),
              HasSubstr("version to be 2, but got 9"));
  EXPECT_THAT(withFields([](Header &header) { header.merge_count = 1 << 30; }),
              HasSubstr("at most 16777216 merges, but got 1073741824"));
  EXPECT_THAT(withFields([](Header &header) { header.token_count = ~0u; }),
              HasSubstr("at most 16777216 tokens"));
  EXPECT_THAT(withFields([](Header &header) { header.decoder_count = 999; }),
              HasSubstr("at most 256 steps"));
  EXPECT_THAT(withFields([](Header &header) { ++header.string_bytes; }),
              HasSubstr("size"));
  EXPECT_THAT(withFields([](Header &header) { header.model = 5; }),
              HasSubstr("unknown model 5"));
  EXPECT_THAT(withFields([](Header &header) { header.unknown = Count; }),
              HasSubstr("unknown token names the token"));
  EXPECT_THAT(withFields([](Header &header) { header.word_suffix = 999; }),
              HasSubstr("string 999 past the last"));
  for (uint64_t cut = 0; cut < bytes; ++cut)
    EXPECT_TRUE(Tokenizer().create(words.data(), cut, Count));
  EXPECT_THAT(Tokenizer().create(words.data(), bytes, Count + 1).message(),
              HasSubstr("expects a tokenizer of 112 tokens"));
}

TEST_F(TokenizerTest, NamesWhatIsWrongWithABlobsParts) {
  auto create = [&](auto change) {
    mlir::tfm::TokenizerBlob blob = makeBlob().make();
    change(blob);
    uint64_t bytes;
    std::vector<uint64_t> words = alignBlob(blob.encode(), bytes);
    return Tokenizer().create(words.data(), bytes, Count).message();
  };
  using Blob = mlir::tfm::TokenizerBlob;
  EXPECT_THAT(create([](Blob &blob) { blob.tokens[3].flags = 64; }),
              HasSubstr("token 3 has the unknown flags 64"));
  EXPECT_THAT(create([](Blob &blob) { blob.tokens[3].text = "a"; }),
              HasSubstr("out of order"));
  EXPECT_THAT(create([](Blob &blob) { blob.merges[0].result = Count; }),
              HasSubstr("merge 0 names a token past the last"));
  EXPECT_THAT(create([](Blob &blob) { blob.suffix = {Count}; }),
              HasSubstr("suffix names the token 111 past the last"));
  EXPECT_THAT(
      create([](Blob &blob) { blob.normalizer = {{TFM_STEP_SPLIT, 0, "a"}}; }),
      HasSubstr("step 0 of the tokenizer's normalizer has the unknown "
                "kind 4"));
  EXPECT_THAT(create([](Blob &blob) { blob.preTokenizer[1].flags = 16; }),
              HasSubstr("step 1 of the tokenizer's pre-tokenizer has the "
                        "unknown flags 16"));
  EXPECT_THAT(create([](Blob &blob) { blob.preTokenizer[0].first = "("; }),
              HasSubstr("pattern '(' at byte 1"));
  EXPECT_THAT(create([](Blob &blob) {
                blob.decoder.insert(blob.decoder.begin(),
                                    {TFM_STEP_TRIM, 1, " "});
              }),
              HasSubstr("goes on after trimming"));
}

TEST_F(TokenizerTest, RefusesWhatTakesTooMuch) {
  auto encode = [&](const mlir::tfm::TextStep &step, size_t count) {
    mlir::tfm::TokenizerBlob blob = makeBlob().make();
    blob.normalizer.assign(count, step);
    words = alignBlob(blob.encode(), bytes);
    Tokenizer tokenizer;
    EXPECT_FALSE(tokenizer.create(words.data(), bytes, Count));
    std::vector<int32_t> ids;
    return tokenizer.encode(std::string(100, 'a') + "!", ids).message();
  };
  mlir::tfm::TextStep twice = {TFM_STEP_REPLACE, TFM_REPLACE_AROUND, "a", "a"};
  EXPECT_EQ(encode(twice, 3), "");
  EXPECT_THAT(encode(twice, 200), HasSubstr("makes of a text at most"));
  EXPECT_THAT(encode({TFM_STEP_REPLACE, 0, "(?:(?:a|a)+)+[bc]"}, 1),
              HasSubstr("cannot cut the text into words"));
}

TEST_F(TokenizerTest, CutsBeforeTheSuffix) {
  mlir::tfm::TokenizerBlob blob = makeBlob().make();
  blob.prefix = {Start};
  blob.suffix = {User, StartLong};
  words = alignBlob(blob.encode(), bytes);
  Tokenizer tokenizer;
  ASSERT_FALSE(tokenizer.create(words.data(), bytes, Count));
  EXPECT_THAT(encode("abcx"),
              ElementsAre(Start, abc, charId('x'), User, StartLong));
  auto cut = [&](size_t most) {
    std::vector<int32_t> ids = encode("abcx");
    tokenizer.truncate(ids, most);
    return ids;
  };
  EXPECT_EQ(cut(9), encode("abcx"));
  EXPECT_EQ(cut(5), encode("abcx"));
  EXPECT_THAT(cut(4), ElementsAre(Start, abc, User, StartLong));
  EXPECT_THAT(cut(3), ElementsAre(Start, User, StartLong));
  EXPECT_THAT(cut(1), ElementsAre(StartLong));
  EXPECT_THAT(cut(0), ElementsAre());
}

// The fake model's one control token is its end of text.
TEST(PromptTest, StartsWithTheStartOfTextOnce) {
  tfm_model model = tfm_model_descriptor;
  model.add_bos = 1;
  model.bos_token = fakeEos;
  Program program;
  ASSERT_EQ(program.open(model).message(), "");
  auto encode = [&](std::string_view text, std::vector<int32_t> ids = {}) {
    EXPECT_EQ(program.encode(text, ids).message(), "");
    return ids;
  };
  EXPECT_THAT(encode("a"), ElementsAre(fakeEos, charId('a')));
  EXPECT_THAT(encode(""), ElementsAre(fakeEos));
  EXPECT_THAT(encode("<end>a"), ElementsAre(fakeEos, charId('a')));
  EXPECT_THAT(encode("a<end>"), ElementsAre(fakeEos, charId('a'), fakeEos));
  // Whoever writes it twice means it.
  EXPECT_THAT(encode("<end><end>"), ElementsAre(fakeEos, fakeEos));
  EXPECT_THAT(encode("a", {5}), ElementsAre(5, fakeEos, charId('a')));

  model.add_bos = 0;
  ASSERT_EQ(program.open(model).message(), "");
  EXPECT_THAT(encode("a"), ElementsAre(charId('a')));
}
