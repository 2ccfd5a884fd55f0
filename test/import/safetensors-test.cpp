//===- safetensors-test.cpp - Tensors of checkpoints ----------------------===//

#include "import/formats/Safetensors.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <gmock/gmock.h>
#include <unistd.h>

using namespace mlir::tfm;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// A file with the given header before `size` zeros.
std::string makeFile(const std::string &header, size_t size) {
  std::string bytes(8, '\0');
  llvm::support::endian::write64le(bytes.data(), header.size());
  return bytes + header + std::string(size, '\0');
}

class Safetensors : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tfm-tensors", folder));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string path(llvm::StringRef name) const {
    llvm::SmallString<128> path = folder;
    llvm::sys::path::append(path, name);
    return path.str().str();
  }
  void write(llvm::StringRef name, llvm::StringRef bytes) {
    std::error_code error;
    llvm::raw_fd_ostream(path(name), error) << bytes;
  }
  std::string errorOf(llvm::StringRef bytes) {
    write("model.safetensors", bytes);
    SafetensorsTensors tensors;
    return llvm::toString(readSafetensors(path("model.safetensors"), tensors));
  }
  std::string errorOf(const std::string &header, size_t size) {
    return errorOf(makeFile(header, size));
  }
  std::string directoryError() {
    auto tensors = readSafetensorsDirectory(folder);
    return tensors ? "no error" : llvm::toString(tensors.takeError());
  }

  llvm::SmallString<128> folder;
};

const std::string kTwo =
    R"({"__metadata__": {"format": "pt"},
        "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "b": {"dtype": "BF16", "shape": [], "data_offsets": [24, 26]},
        "c": {"dtype": "I64", "shape": [0, 5], "data_offsets": [26, 26]}})";

TEST_F(Safetensors, GivesTensors) {
  write("model.safetensors", makeFile(kTwo, 26));
  auto tensors = llvm::cantFail(readSafetensorsDirectory(folder));
  ASSERT_EQ(tensors.size(), 3u);
  const SafetensorsTensor &a = tensors.at("a"), &b = tensors.at("b");
  EXPECT_EQ(a.path, path("model.safetensors"));
  EXPECT_EQ(a.dtype, "F32");
  EXPECT_THAT(a.shape, ElementsAre(2, 3));
  EXPECT_EQ(a.offset, 8 + kTwo.size());
  EXPECT_EQ(b.dtype, "BF16");
  EXPECT_TRUE(b.shape.empty());
  EXPECT_EQ(b.offset, 8 + kTwo.size() + 24);
  EXPECT_EQ(llvm::toString(tensorError(tensors, "a", "expects less")),
            "model.safetensors: tensor \"a\": expects less");
}

TEST_F(Safetensors, EveryTruncationIsRefused) {
  std::string whole = makeFile(kTwo, 26);
  for (size_t size = 0; size != whole.size(); ++size)
    EXPECT_THAT(errorOf(llvm::StringRef(whole).take_front(size)),
                testing::StartsWith("model.safetensors: "))
        << size;
}

TEST_F(Safetensors, EveryByteMayBeWrong) {
  std::string whole = makeFile(kTwo, 26);
  for (size_t i = 0; i != 8 + kTwo.size(); ++i)
    for (char byte : {'\0', '"', '9', '}', '\xff'}) {
      std::string changed = whole;
      changed[i] = byte;
      errorOf(changed); // ends, whatever it says
    }
}

TEST_F(Safetensors, RefusesHeaders) {
  std::string long_ = makeFile(kTwo, 26);
  llvm::support::endian::write64le(long_.data(), UINT64_MAX);
  EXPECT_THAT(errorOf(long_), HasSubstr("expects a header of at most"));
  EXPECT_THAT(errorOf("{", 0), HasSubstr("header: line 1"));
  EXPECT_THAT(errorOf("[]", 0), HasSubstr("header: expects an object"));
  EXPECT_THAT(errorOf(R"({"a": 1})", 0),
              HasSubstr("tensor \"a\": expects an object, but got 1"));
  EXPECT_THAT(
      errorOf(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
                  "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})",
              4),
      HasSubstr("expects each key once, but got \"a\" twice"));
  EXPECT_THAT(errorOf("version https://git-lfs.github.com/spec/v1"),
              HasSubstr("Git LFS pointer"));
  EXPECT_THAT(errorOf(""), HasSubstr("an empty file"));
}

struct BadTensor {
  std::string entry;
  size_t size;
  std::string message;
};

TEST_F(Safetensors, RefusesTensors) {
  const BadTensor cases[] = {
      {R"("shape": [1], "data_offsets": [0, 4])", 4, "expects a dtype"},
      {R"("dtype": "F32", "data_offsets": [0, 4])", 4, "expects a shape"},
      {R"("dtype": "F32", "shape": [1])", 4, "data_offsets of two whole"},
      {R"("dtype": "F32", "shape": [1], "data_offsets": [0, 4, 8])", 4,
       "data_offsets of two whole"},
      {R"("dtype": "F32", "shape": [1], "data_offsets": [-4, 0])", 4,
       "data_offsets of two whole"},
      {R"("dtype": "F32", "shape": [1], "data_offsets": [0, 4.0])", 4,
       "data_offsets of two whole"},
      {R"("dtype": "F32", "shape": [1], "data_offsets": [4, 0])", 4,
       "in order and up to 4, but got 4 and 0"},
      {R"("dtype": "F32", "shape": [1], "data_offsets": [0, 8])", 4,
       "in order and up to 4, but got 0 and 8"},
      {R"("dtype": "F32", "shape": [2], "data_offsets": [0, 4])", 4,
       "as many bytes as shape [2] and dtype F32 have, but got 4"},
      {R"("dtype": "F32", "shape": [-1], "data_offsets": [0, 4])", 4,
       "a shape of whole numbers"},
      {R"("dtype": "F32", "shape": ["1"], "data_offsets": [0, 4])", 4,
       "a shape of whole numbers"},
      {R"("dtype": "F32", "shape": [4294967296, 4294967296],
          "data_offsets": [0, 4])",
       4, "that 64 bits hold"},
      {R"("dtype": "F32", "shape": [4611686018427387904],
          "data_offsets": [0, 0])",
       0, "as many bytes as shape"},
      {R"("dtype": "F32", "shape": [1], "data_offsets": [4, 8])", 8,
       "expects to start at 0"},
      {R"("dtype": "F32", "shape": [1], "data_offsets": [0, 4])", 6,
       "expects 4 bytes of elements, but got 6"}};
  for (const BadTensor &bad : cases)
    EXPECT_THAT(errorOf("{\"a\": {" + bad.entry + "}}", bad.size),
                HasSubstr(bad.message))
        << bad.entry;
  EXPECT_THAT(
      errorOf(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                  "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}})",
              12),
      HasSubstr("tensor \"b\": expects to start at 8"));
}

std::string one(const std::string &name) {
  return makeFile("{\"" + name +
                      R"(": {"dtype": "F32", "shape": [1],
                            "data_offsets": [0, 4]}})",
                  4);
}

TEST_F(Safetensors, FollowsAnIndex) {
  write("1.safetensors", one("a"));
  write("2.safetensors", one("b"));
  write("model.safetensors.index.json",
        R"({"metadata": {"total_size": 8},
            "weight_map": {"a": "1.safetensors", "b": "2.safetensors"}})");
  auto tensors = llvm::cantFail(readSafetensorsDirectory(folder));
  EXPECT_EQ(tensors.at("a").path, path("1.safetensors"));
  EXPECT_EQ(tensors.at("b").path, path("2.safetensors"));
  // A link inside of the directory is fine.
  write("3.safetensors", one("b"));
  llvm::sys::fs::remove(path("2.safetensors"));
  ASSERT_EQ(symlink("3.safetensors", path("2.safetensors").c_str()), 0);
  EXPECT_EQ(directoryError(), "no error");
}

TEST_F(Safetensors, RefusesAnIndex) {
  EXPECT_THAT(directoryError(), HasSubstr("model.safetensors: cannot be read"));
  auto error = [&](llvm::StringRef map) {
    write("model.safetensors.index.json",
          ("{\"weight_map\": " + map + "}").str());
    return directoryError();
  };
  write("1.safetensors", one("a"));
  write("2.safetensors", one("a"));
  EXPECT_THAT(error("[]"), HasSubstr("weight_map: expects an object"));
  EXPECT_THAT(error(R"({"a": 1})"), HasSubstr("expects a string, but got 1"));
  for (const char *name :
       {"../1.safetensors", "/etc/passwd", "x/1.safetensors", "", "..", "."})
    EXPECT_THAT(error("{\"a\": \"" + std::string(name) + "\"}"),
                testing::AnyOf(HasSubstr("expects names of files"),
                               HasSubstr("expects files in the directory"),
                               HasSubstr("expects a safetensors file")))
        << name;
  EXPECT_THAT(error(R"({"a": "none.safetensors"})"),
              HasSubstr("none.safetensors cannot be read"));
  EXPECT_THAT(error(R"({"b": "1.safetensors"})"),
              HasSubstr("expects tensor b in 1.safetensors"));
  EXPECT_THAT(error(R"({"a": "1.safetensors", "b": "2.safetensors"})"),
              HasSubstr("expects a tensor once"));
  ASSERT_EQ(symlink("/etc/passwd", path("out.safetensors").c_str()), 0);
  EXPECT_THAT(error(R"({"a": "out.safetensors"})"),
              HasSubstr("is a link to /etc/passwd"));
}

} // namespace
