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
    blob.tokens.push_back({std::string(1, c), TFM_TOKEN_NORMAL});
  // In GPT-2's alphabet 0x82 is U+0124, 0xAC itself and 0xE2 itself.
  for (const char *text :
       {"Ġ", "Ċ", "â", "Ĥ", "¬", "12", "ab", "bc", "abc", "aa", "Ġa", "ĠĠ"})
    blob.tokens.push_back({text, TFM_TOKEN_NORMAL});
  blob.tokens.push_back({"<s>", TFM_TOKEN_CONTROL});
  blob.tokens.push_back({"<s>>", TFM_TOKEN_CONTROL});
  blob.tokens.push_back({"<user é>", TFM_TOKEN_USER_DEFINED});
  blob.tokens.push_back({"<unused>", TFM_TOKEN_UNUSED});
  blob.tokens.push_back({"<0x0A>", TFM_TOKEN_BYTE});
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
    std::string text;
    for (int32_t id : ids)
      tokenizer.decode(id, text);
    return text;
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
  TokenizerBlob unknown = makeBlob();
  unknown.preTokenizer = 77;
  EXPECT_THAT(create(unknown), HasSubstr("kind 77"));

  SetUp();
  auto createChanged = [&](size_t word, uint32_t value) {
    std::vector<uint64_t> changed = words;
    reinterpret_cast<uint32_t *>(changed.data())[word] = value;
    return Tokenizer().create(changed.data(), bytes, Count).message();
  };
  EXPECT_THAT(createChanged(0, 0), HasSubstr("TFMTOKEN"));
  EXPECT_THAT(createChanged(2, 9), HasSubstr("version to be 1, but got 9"));
  EXPECT_THAT(createChanged(4, 5), HasSubstr("number of tokens"));
  EXPECT_THAT(createChanged(5, 1 << 30), HasSubstr("too many"));
  EXPECT_THAT(createChanged(5, 8), HasSubstr("size"));
  EXPECT_THAT(createChanged(6, 1), HasSubstr("size"));
  EXPECT_THAT(createChanged(8 + 3, 1 << 20), HasSubstr("token 3"));
  EXPECT_THAT(createChanged(8 + Count + 1, Count), HasSubstr("merge 0"));
  EXPECT_THAT(createChanged(8 + Count + 1 + 3 * 7, 0), HasSubstr("type 0"));
  for (uint64_t cut = 0; cut < bytes; ++cut)
    EXPECT_TRUE(Tokenizer().create(words.data(), cut, Count));
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
