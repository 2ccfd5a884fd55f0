//===- gguf-test.cpp - The GGUF reader on good and on hostile files -------===//

#include "import/formats/Gguf.h"
#include "test/import/GgufWriter.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <sys/stat.h>

using namespace mlir::tfm;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using W = GgufWriter;

namespace {
/// One of every kind of value, and two tensors.
GgufWriter sample() {
  GgufWriter writer;
  writer.key("u8", W::U8, W::number<uint8_t>(200));
  writer.key("i8", W::I8, W::number<int8_t>(-100));
  writer.key("u16", W::U16, W::number<uint16_t>(60000));
  writer.key("i16", W::I16, W::number<int16_t>(-30000));
  writer.key("u32", W::U32, W::number<uint32_t>(4000000000));
  writer.key("i32", W::I32, W::number<int32_t>(-2000000000));
  writer.key("u64", W::U64, W::number<uint64_t>(uint64_t(1) << 62));
  writer.key("i64", W::I64, W::number<int64_t>(-(int64_t(1) << 62)));
  writer.key("f32", W::F32, W::number(0.5f));
  writer.key("f64", W::F64, W::number(1e300));
  writer.key("bool", W::Bool, W::number<uint8_t>(1));
  writer.key("string", W::String, W::string("attention"));
  writer.key("strings", W::Array, W::strings({"a", "", "bc"}));
  writer.key("ints", W::Array,
             W::array(W::I16, 2) + W::number<int16_t>(-1) +
                 W::number<int16_t>(7));
  writer.key("nested", W::Array,
             W::array(W::Array, 2) + W::strings({"x"}) + W::array(W::U8, 1) +
                 W::number<uint8_t>(3));
  writer.tensor("norm", {8}, 0, std::string(32, 'n'));
  writer.tensor("linear", {32, 3}, 3, std::string(60, 'l'));
  return writer;
}

/// The message that reading the file gives; empty if it is read.
std::string messageOf(llvm::StringRef bytes) {
  TemporaryFile file(bytes);
  llvm::Expected<GgufFile> gguf = GgufFile::open(file.getPath());
  if (gguf)
    return "";
  return llvm::toString(gguf.takeError());
}

template <typename T> std::string messageOf(llvm::Expected<T> value) {
  return value ? "" : llvm::toString(value.takeError());
}

template <typename T> T valueOf(llvm::Expected<T> value) {
  if (value)
    return *value;
  ADD_FAILURE() << llvm::toString(value.takeError());
  return T();
}

struct GgufTest : testing::TestWithParam<uint32_t> {
  GgufTest() : file(bytes()), gguf(GgufFile::open(file.getPath())) {
    if (!gguf)
      llvm::report_fatal_error(gguf.takeError());
  }

  static std::string bytes() {
    GgufWriter writer = sample();
    writer.version = GetParam();
    return writer.str();
  }

  TemporaryFile file;
  llvm::Expected<GgufFile> gguf;
};
INSTANTIATE_TEST_SUITE_P(Versions, GgufTest, testing::Values(2, 3));
} // namespace

TEST_P(GgufTest, GivesValuesOfEveryKind) {
  EXPECT_EQ(valueOf(gguf->getInt("u8")), 200);
  EXPECT_EQ(valueOf(gguf->getInt("i8")), -100);
  EXPECT_EQ(valueOf(gguf->getInt("u16")), 60000);
  EXPECT_EQ(valueOf(gguf->getInt("i16")), -30000);
  EXPECT_EQ(valueOf(gguf->getInt("u32")), 4000000000);
  EXPECT_EQ(valueOf(gguf->getInt("i32")), -2000000000);
  EXPECT_EQ(valueOf(gguf->getInt("u64")), int64_t(1) << 62);
  EXPECT_EQ(valueOf(gguf->getInt("i64")), -(int64_t(1) << 62));
  EXPECT_EQ(valueOf(gguf->getFloat("f32")), 0.5);
  EXPECT_EQ(valueOf(gguf->getFloat("f64")), 1e300);
  EXPECT_EQ(valueOf(gguf->getBool("bool")), true);
  EXPECT_EQ(valueOf(gguf->getString("string")), "attention");
  EXPECT_THAT(valueOf(gguf->getStrings("strings")), ElementsAre("a", "", "bc"));
  EXPECT_THAT(valueOf(gguf->getInts("ints")), ElementsAre(-1, 7));
}

TEST_P(GgufTest, FallsBackOnlyIfTheKeyIsMissing) {
  EXPECT_EQ(valueOf(gguf->getInt("none", 5)), 5);
  EXPECT_EQ(valueOf(gguf->getInt("u8", 5)), 200);
  EXPECT_EQ(valueOf(gguf->getString("none", "x")), "x");
  EXPECT_THAT(messageOf(gguf->getInt("none")),
              HasSubstr("key \"none\": expects an integer, but got no such "
                        "key"));
}

TEST_P(GgufTest, RefusesValuesOfAnotherKind) {
  EXPECT_THAT(messageOf(gguf->getInt("f32")),
              HasSubstr(": key \"f32\": expects an integer, but got 0.5"));
  EXPECT_THAT(messageOf(gguf->getInt("string", 1)),
              HasSubstr("expects an integer, but got \"attention\""));
  EXPECT_THAT(messageOf(gguf->getFloat("i8")),
              HasSubstr("expects a float, but got -100"));
  EXPECT_THAT(messageOf(gguf->getBool("u8")),
              HasSubstr("expects a boolean, but got 200"));
  EXPECT_THAT(messageOf(gguf->getString("bool")),
              HasSubstr("expects a string, but got true"));
  EXPECT_THAT(messageOf(gguf->getStrings("ints")),
              HasSubstr("expects an array of strings, but got 2 integers"));
  EXPECT_THAT(messageOf(gguf->getInts("strings")),
              HasSubstr("expects an array of integers, but got 3 strings"));
  EXPECT_THAT(messageOf(gguf->getInts("nested")),
              HasSubstr("expects an array of integers, but got 2 arrays"));
}

TEST_P(GgufTest, KnowsTheKeysThatNothingAskedFor) {
  EXPECT_EQ(gguf->getUnusedKeys().size(), 15u);
  for (const char *key : {"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64",
                          "f32", "f64", "bool", "string", "nested"})
    EXPECT_NE(gguf->describeValue(key), std::nullopt);
  EXPECT_EQ(gguf->describeValue("none"), std::nullopt);
  EXPECT_THAT(gguf->getUnusedKeys(), ElementsAre("strings", "ints"));
}

TEST_P(GgufTest, PlacesTensors) {
  ASSERT_EQ(gguf->getTensors().size(), 2u);
  const GgufTensor &norm = gguf->getTensors().find("norm")->second;
  EXPECT_THAT(norm.dims, ElementsAre(8));
  EXPECT_EQ(norm.type, GgmlType::F32);
  const GgufTensor &linear = gguf->getTensors().find("linear")->second;
  EXPECT_THAT(linear.dims, ElementsAre(32, 3));
  EXPECT_EQ(linear.type, GgmlType::Q4_1);
  EXPECT_EQ(bytes().substr(norm.offset, 32), std::string(32, 'n'));
  EXPECT_EQ(bytes().substr(linear.offset), std::string(60, 'l'));
  EXPECT_EQ(bytes().substr(linear.infoOffset, 14),
            W::number<uint64_t>(6) + "linear");
}

TEST(GgufErrors, EveryTruncationIsRefused) {
  for (uint32_t version : {2, 3}) {
    GgufWriter writer = sample();
    writer.version = version;
    std::string bytes = writer.str();
    ASSERT_EQ(messageOf(bytes), "");
    for (size_t length = 0; length != bytes.size(); ++length)
      EXPECT_NE(messageOf(bytes.substr(0, length)), "") << length << " bytes";
  }
}

// What comes of a flipped byte doesn't matter, as long as the reader returns.
TEST(GgufErrors, EveryByteMayBeWrong) {
  std::string bytes = sample().str();
  for (char &byte : bytes)
    for (char mask : {'\x01', '\x80', '\xff'}) {
      byte ^= mask;
      messageOf(bytes);
      byte ^= mask;
    }
}

TEST(GgufErrors, WhatIsNoGguf) {
  EXPECT_EQ(messageOf(""),
            "offset 0: expects a GGUF file, but got an empty file");
  EXPECT_EQ(messageOf("version https://git-lfs.github.com/spec/v1\noid "),
            "offset 0: expects a GGUF file, but got a Git LFS pointer to one: "
            "the file itself is still to be fetched");
  EXPECT_EQ(
      messageOf("\x7f"
                "ELF\x02\x01"),
      "offset 0: expects a GGUF file, which starts with \"GGUF\", but got "
      "\"\\7FELF\"");
  EXPECT_EQ(messageOf(GgufFile::open("/nonexistent.gguf")),
            "cannot be read: No such file or directory");
  EXPECT_EQ(messageOf(GgufFile::open("/")),
            "expects a GGUF file, but got a directory");

  std::string pipe = TemporaryFile("").getPath().str();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  llvm::FileRemover remover(pipe);
  EXPECT_EQ(messageOf(GgufFile::open(pipe)),
            "expects a GGUF file, but got a pipe or a device");
}

namespace {
struct Corruption {
  const char *name;
  void (*apply)(GgufWriter &);
  const char *message;
};

void PrintTo(const Corruption &corruption, std::ostream *os) {
  *os << corruption.name;
}

void align(GgufWriter &writer, uint64_t alignment) {
  writer.key("general.alignment", W::U64, W::number(alignment));
}

const Corruption kCorruptions[] = {
    {"Version1", [](W &w) { w.version = 1; },
     "offset 4: expects GGUF version 2 or 3, but got 1"},
    {"Version4", [](W &w) { w.version = 4; },
     "offset 4: expects GGUF version 2 or 3, but got 4"},
    {"BigEndian", [](W &w) { w.version = 3 << 24; },
     "offset 4: expects a little-endian file, but got a big-endian one"},
    {"KeyCountHuge", [](W &w) { w.keyCount = UINT64_MAX; },
     "offset 24: expects 18446744073709551615 keys, but got bytes for at most "
     "44"},
    {"KeyCountTooHigh", [](W &w) { w.keyCount = 17; },
     "offset 458: expects a tensor's name of 1688849860263936 bytes, but got "
     "only 146"},
    {"TensorCountHuge", [](W &w) { w.tensorCount = uint64_t(1) << 59; },
     "offset 420: expects 576460752303423488 tensors, but got bytes for at "
     "most 5"},
    {"KeyLengthHuge",
     [](W &w) { w.key("k", W::String, W::number<uint64_t>(UINT64_MAX)); },
     "offset 441: key \"k\": expects a string of 18446744073709551615 bytes, "
     "but got only 195"},
    {"ValueTypeUnknown", [](W &w) { w.key("k", 13, "0123"); },
     "offset 429: key \"k\": expects a value type from 0 to 12, but got 13"},
    {"ElementTypeUnknown",
     [](W &w) { w.key("k", W::Array, W::array(1 << 31, 1)); },
     "offset 433: key \"k\": expects an element type from 0 to 12, but got "
     "2147483648"},
    {"ArrayLengthWraps",
     [](W &w) {
       w.key("k", W::Array, W::array(W::U64, (uint64_t(1) << 61) + 1));
     },
     "offset 445: key \"k\": expects 2305843009213693953 elements, but got "
     "bytes for at most 23"},
    {"StringArrayLengthHuge",
     [](W &w) { w.key("k", W::Array, W::array(W::String, UINT64_MAX)); },
     "offset 445: key \"k\": expects 18446744073709551615 elements, but got "
     "bytes for at most 23"},
    {"ArraysTooDeep",
     [](W &w) {
       std::string value;
       for (int i = 0; i != 100; ++i)
         value += W::array(W::Array, 1);
       w.key("k", W::Array, value);
     },
     "offset 481: key \"k\": expects arrays at most 4 deep, but got deeper "
     "ones"},
    {"BooleanOf2", [](W &w) { w.key("k", W::Bool, "\x02"); },
     "offset 433: key \"k\": expects a boolean of 0 or 1, but got 2"},
    {"KeyTwice", [](W &w) { w.key("u8", W::U8, "x"); },
     "offset 420: key \"u8\": expects each key once, but got it at offset 24 "
     "too"},
    {"Alignment0", [](W &w) { align(w, 0); },
     "offset 420: key \"general.alignment\": expects a power of two from 8 to "
     "65536, but got 0"},
    {"Alignment3", [](W &w) { align(w, 3); },
     "offset 420: key \"general.alignment\": expects a power of two from 8 to "
     "65536, but got 3"},
    {"Alignment2To40", [](W &w) { align(w, uint64_t(1) << 40); },
     "offset 420: key \"general.alignment\": expects a power of two from 8 to "
     "65536, but got 1099511627776"},
    {"Alignment2To63", [](W &w) { align(w, uint64_t(1) << 63); },
     "offset 420: key \"general.alignment\": expects an integer below 2^63, "
     "but got more"},
    {"Alignment4", [](W &w) { align(w, 4); },
     "offset 420: key \"general.alignment\": expects a power of two from 8 to "
     "65536, but got 4"},
    {"AlignmentAFloat",
     [](W &w) { w.key("general.alignment", W::F32, W::number(32.0f)); },
     "offset 420: key \"general.alignment\": expects an integer, but got 32"},
    {"AlignmentAString",
     [](W &w) { w.key("general.alignment", W::String, W::string("32")); },
     "offset 420: key \"general.alignment\": expects an integer, but got "
     "\"32\""},
    {"AlignmentOtherThanOffsets", [](W &w) { align(w, 64); },
     "offset 493: tensor \"linear\": expects an offset that is a multiple of "
     "64, but got 32"},
    {"NoDimensions", [](W &w) { w.info("t", {}, 0, 64); },
     "offset 511: tensor \"t\": expects 1 to 4 dimensions, but got 0"},
    {"FiveDimensions", [](W &w) { w.info("t", {1, 1, 1, 1, 1}, 0, 64); },
     "offset 511: tensor \"t\": expects 1 to 4 dimensions, but got 5"},
    {"DimensionOf0", [](W &w) { w.info("t", {4, 0}, 0, 64); },
     "offset 523: tensor \"t\": expects dimensions of at least 1, but got 0"},
    {"DimensionsWrap",
     [](W &w) { w.info("t", {uint64_t(1) << 32, uint64_t(1) << 32}, 0, 64); },
     "offset 523: tensor \"t\": expects fewer than 2^63 elements, but got "
     "more"},
    {"DimensionNegative", [](W &w) { w.info("t", {UINT64_MAX}, 0, 64); },
     "offset 515: tensor \"t\": expects fewer than 2^63 elements, but got "
     "more"},
    {"BytesWrap", [](W &w) { w.info("t", {uint64_t(1) << 62}, 0, 64); },
     "offset 502: tensor \"t\": expects 18446744073709551615 bytes from offset "
     "608 on, but the file ends at 636"},
    {"PartialBlock", [](W &w) { w.info("t", {33, 2}, 3, 64); },
     "offset 502: tensor \"t\": expects an innermost dimension that is a "
     "multiple of the 32 elements in a block of q4_1, but got 33"},
    {"OffsetMisaligned", [](W &w) { w.info("t", {1}, 0, 65); },
     "offset 502: tensor \"t\": expects an offset that is a multiple of 32, "
     "but got 65"},
    {"OffsetBeyondTheEnd", [](W &w) { w.info("t", {1}, 0, 1 << 20); },
     "offset 502: tensor \"t\": expects 4 bytes from offset 1049120 on, but "
     "the file ends at 636"},
    {"OffsetWraps", [](W &w) { w.info("t", {1}, 0, -uint64_t(32)); },
     "offset 502: tensor \"t\": expects 4 bytes from offset "
     "18446744073709551615 on, but the file ends at 636"},
    {"OffsetOfUnknownTypeBeyondTheEnd",
     [](W &w) { w.info("t", {1}, 77, 1 << 20); },
     "offset 502: tensor \"t\": expects 0 bytes from offset 1049120 on, but "
     "the file ends at 636"},
    {"TooFewElements", [](W &w) { w.tensor("t", {64}, 0, "0123"); },
     "offset 502: tensor \"t\": expects 256 bytes from offset 640 on, but the "
     "file ends at 644"},
    {"TensorTwice", [](W &w) { w.tensor("norm", {1}, 0, "0123"); },
     "offset 502: tensor \"norm\": expects each tensor once, but got it at "
     "offset 420 too"},
    {"TensorCountTooHigh", [](W &w) { w.tensorCount = 3; },
     "offset 510: tensor \"\": expects 1 to 4 dimensions, but got 1852702720"},
    {"TensorsOverlap", [](W &w) { w.info("t", {8}, 0, 0); },
     "offset 544: tensor \"t\": expects bytes of its own, but tensor \"norm\" "
     "ends at offset 576"},
};

struct GgufCorruption : testing::TestWithParam<Corruption> {};
INSTANTIATE_TEST_SUITE_P(GgufErrors, GgufCorruption,
                         testing::ValuesIn(kCorruptions),
                         [](const auto &info) { return info.param.name; });
} // namespace

TEST_P(GgufCorruption, IsRefused) {
  GgufWriter writer = sample();
  GetParam().apply(writer);
  EXPECT_EQ(messageOf(writer.str()), GetParam().message);
}

TEST(GgufErrors, LengthsOfNamesPassTheEnd) {
  std::string bytes = sample().str();
  auto messageWithLength = [&](size_t offset, uint64_t length) {
    std::string changed = bytes;
    return messageOf(changed.replace(offset, 8, W::number(length)));
  };
  constexpr size_t firstKey = 24, firstTensor = 420;
  EXPECT_EQ(messageWithLength(firstKey, UINT64_MAX),
            "offset 32: expects a key of 18446744073709551615 bytes, but got "
            "only 572");
  EXPECT_EQ(messageWithLength(firstKey, 573),
            "offset 32: expects a key of 573 bytes, but got only 572");
  EXPECT_EQ(messageWithLength(firstTensor, uint64_t(1) << 63),
            "offset 428: expects a tensor's name of 9223372036854775808 bytes, "
            "but got only 176");
}

TEST(GgufErrors, UnknownTypesOnlyMatterToWhomUsesTheTensor) {
  GgufWriter writer = sample();
  writer.tensor("odd", {5}, 77, "0123");
  TemporaryFile file(writer.str());
  llvm::Expected<GgufFile> gguf = GgufFile::open(file.getPath());
  ASSERT_TRUE(bool(gguf)) << llvm::toString(gguf.takeError());
  EXPECT_EQ(getName(gguf->getTensors().find("odd")->second.type), "type 77");
  EXPECT_EQ(getName(GgmlType::Q8_0), "q8_0");
}
