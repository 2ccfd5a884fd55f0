//===- normal-form-test.cpp - Unicode's normal forms ----------------------===//
//
// Expected values are from UnicodeData.txt and Unicode Standard Annex #15.
//
//===----------------------------------------------------------------------===//

#include "runtime/NormalForm.h"
#include "runtime/Utf8.h"

#include <gtest/gtest.h>

using namespace tfm;

static std::string toNfc(std::string_view text) {
  return toNormalForm(text, TFM_NORMAL_FORM_C);
}

TEST(NormalForm, ComposesAndOrders) {
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

TEST(NormalForm, Decomposes) {
  EXPECT_EQ(toNormalForm("\u00E9", TFM_NORMAL_FORM_D), "e\u0301");
  EXPECT_EQ(toNormalForm("\uAC01", TFM_NORMAL_FORM_D), "\u1100\u1161\u11A8");
  EXPECT_EQ(toNormalForm("\uFB01\u00B2", TFM_NORMAL_FORM_D), "\uFB01\u00B2");
  EXPECT_EQ(toNormalForm("\uFB01\u00B2", TFM_NORMAL_FORM_KD), "fi2");
  EXPECT_EQ(toNormalForm("\uFF76\uFF9E", TFM_NORMAL_FORM_KC), "\u30AC");
  // The longest decomposition: 18 characters, two bytes each but for 3 spaces.
  EXPECT_EQ(toNormalForm("\uFDFA", TFM_NORMAL_FORM_KD).size(), 33u);
}

TEST(LowerCase, MapsEachCharacter) {
  EXPECT_EQ(toLowerCase("AZ\u00C9\u0416\U00010400"),
            "az\u00E9\u0436\U00010428");
  EXPECT_EQ(toLowerCase("\u0130"), "i\u0307");
  // The last sigma of a word is like the others.
  EXPECT_EQ(toLowerCase("\u03A3\u03A3"), "\u03C3\u03C3");
  EXPECT_EQ(toLowerCase("A\xFFZ"), "a\xFFz");
}

TEST(Utf8, AppendsWhatItDecodes) {
  for (char32_t code : {U'\0', U'a', U'\x7F', U'\x80', U'\u07FF', U'\u0800',
                        U'\uFFFF', U'\U00010000', U'\U0010FFFF'}) {
    std::string text;
    appendCharacter(code, text);
    EXPECT_EQ(decodeCharacter(text).kind, Character::Valid);
    EXPECT_EQ(decodeCharacter(text).code, code);
    EXPECT_EQ(decodeCharacter(text).bytes, text.size());
  }
}
