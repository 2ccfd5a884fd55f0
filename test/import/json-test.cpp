//===- json-test.cpp - JSON files -----------------------------------------===//

#include "import/formats/Json.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

using namespace mlir::tfm;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

JsonFile parse(llvm::StringRef text) {
  return llvm::cantFail(JsonFile::parse(text, "config.json"));
}

template <typename T> std::string messageOf(llvm::Expected<T> result) {
  return result ? "no error" : llvm::toString(result.takeError());
}

TEST(Json, GivesValuesOfEveryKind) {
  JsonFile file = parse(R"({"i": -7, "f": 1e-5, "b": true, "s": "x", "n": null,
                            "whole": 1e4, "o": {"p": {"q": 3}}})");
  EXPECT_EQ(llvm::cantFail(file.getInt("i")), -7);
  EXPECT_EQ(llvm::cantFail(file.getInt("whole")), 10000);
  EXPECT_EQ(llvm::cantFail(file.getInt("o.p.q")), 3);
  EXPECT_EQ(llvm::cantFail(file.getFloat("f")), 1e-5);
  EXPECT_EQ(llvm::cantFail(file.getFloat("i")), -7);
  EXPECT_TRUE(llvm::cantFail(file.getBool("b")));
  EXPECT_EQ(llvm::cantFail(file.getString("s")), "x");
  // Null is as good as missing.
  EXPECT_EQ(llvm::cantFail(file.getInt("n", 5)), 5);
  EXPECT_EQ(llvm::cantFail(file.getInt("m", 5)), 5);
  EXPECT_FALSE(file.has("n"));
  EXPECT_TRUE(file.has("o.p"));
  EXPECT_FALSE(file.has("i.p"));
}

TEST(Json, RefusesValuesOfAnotherKind) {
  JsonFile file = parse(R"({"f": 1.5, "s": "12", "big": 9223372036854775808,
                            "zero": 0, "huge": 1e300})");
  EXPECT_EQ(messageOf(file.getInt("f")),
            "config.json: f: expects a whole number, but got 1.5");
  EXPECT_EQ(messageOf(file.getInt("s")),
            "config.json: s: expects a whole number, but got \"12\"");
  EXPECT_THAT(messageOf(file.getInt("big")), HasSubstr("a whole number"));
  EXPECT_THAT(messageOf(file.getInt("huge")), HasSubstr("a whole number"));
  EXPECT_EQ(messageOf(file.getBool("zero")),
            "config.json: zero: expects true or false, but got 0");
  EXPECT_EQ(messageOf(file.getFloat("m")),
            "config.json: m: expects a finite number, but got no such key");
  EXPECT_EQ(messageOf(file.getSize("zero")),
            "config.json: zero: expects a size from 1 to 2147483647, but got "
            "0");
  EXPECT_THAT(messageOf(file.getString("f")), HasSubstr("a string"));
}

TEST(Json, KnowsWhatNothingAskedFor) {
  JsonFile file = parse(R"({"a": 1, "b": {"c": 2}, "d": 3, "e": 4})");
  EXPECT_THAT(file.getUnusedKeys(), ElementsAre("a", "b", "d", "e"));
  llvm::cantFail(file.getInt("b.c"));
  llvm::cantFail(file.checkNeutral("d", "3"));
  file.ignore("e");
  EXPECT_THAT(file.getUnusedKeys(), ElementsAre("a"));
}

TEST(Json, NeutralValuesAreComparedAsValues) {
  JsonFile file = parse(R"({"a": 1.0, "b": "x", "c": {}, "n": null})");
  for (auto [key, neutral] :
       {std::pair("a", "1"), std::pair("b", "\"x\""), std::pair("c", "{}"),
        std::pair("n", "7"), std::pair("missing", "7")})
    EXPECT_FALSE(bool(file.checkNeutral(key, neutral))) << key;
  EXPECT_THAT(llvm::toString(file.checkNeutral("a", "2")),
              HasSubstr("config.json: a: expects 2"));
}

struct Malformed {
  std::string text, message;
};

class JsonErrors : public testing::TestWithParam<Malformed> {};

TEST_P(JsonErrors, NameTheFileAndThePlace) {
  EXPECT_THAT(messageOf(JsonFile::parse(GetParam().text, "config.json")),
              testing::StartsWith("config.json: "));
  EXPECT_THAT(messageOf(JsonFile::parse(GetParam().text, "config.json")),
              HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, JsonErrors,
    testing::Values(Malformed{"", "line 1, column 1: expects JSON"},
                    Malformed{"{\"a\": 1,\n \"b\" 2}", "line 2, column 6"},
                    Malformed{"{\"a\": NaN}", "line 1, column 7"},
                    Malformed{"{\"a\": 1} x", "line 1, column 10"},
                    Malformed{"[1]", "expects an object, but got [1]"},
                    Malformed{"{\"a\": 1, \"a\": 2}",
                              "expects each key once, but got \"a\" twice"},
                    Malformed{"{\"a\": \"\xff\"}", "expects JSON"},
                    Malformed{"{\"a\": 1e999}", "expects finite numbers"},
                    Malformed{std::string(100, '[') + std::string(100, ']'),
                              "at most 64 levels"},
                    Malformed{std::string(1 << 20, '['), "at most 64 levels"}));

TEST(JsonFiles, SayWhatTheyAreInstead) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tfm-json", folder));
  auto path = [&](llvm::StringRef name) {
    llvm::SmallString<128> path = folder;
    llvm::sys::path::append(path, name);
    return path.str().str();
  };
  auto write = [&](llvm::StringRef name, llvm::StringRef text) {
    std::error_code error;
    llvm::raw_fd_ostream(path(name), error) << text;
  };
  write("lfs.json", "version https://git-lfs.github.com/spec/v1\noid ...");
  write("empty.json", "");
  EXPECT_THAT(messageOf(JsonFile::open(path("lfs.json"))),
              HasSubstr("lfs.json: expects a JSON file, but got a Git LFS"));
  EXPECT_THAT(messageOf(JsonFile::open(path("empty.json"))),
              HasSubstr("empty.json: expects a JSON file, but got an empty"));
  EXPECT_THAT(messageOf(JsonFile::open(path("none.json"))),
              HasSubstr("none.json: cannot be read: "));
  EXPECT_THAT(messageOf(JsonFile::open(folder)), HasSubstr("a directory"));
  EXPECT_THAT(messageOf(JsonFile::open("/dev/null")), HasSubstr("a device"));
  llvm::sys::fs::remove_directories(folder);
}

} // namespace
