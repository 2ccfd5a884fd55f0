//===- resources-test.cpp - The bytes of tokenizers and templates ---------===//

#include "import/Resources.h"
#include "runtime/include/tfm_tokenizer_format.h"
#include "test/import/GgufWriter.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::tfm;
using testing::HasSubstr;
using W = GgufWriter;

namespace {
struct Tokens {
  std::vector<std::string> strings = {"<s>", "a", "b", "ab"};
  std::vector<int32_t> types = {3, 1, 1, 4};
  std::vector<std::string> merges = {"a b"};
  std::string pre = "smollm";

  std::string file() const {
    GgufWriter writer;
    writer.key("tokenizer.ggml.model", W::String, W::string("gpt2"));
    writer.key("tokenizer.ggml.pre", W::String, W::string(pre));
    writer.key("tokenizer.ggml.tokens", W::Array, W::strings(strings));
    std::string numbers = W::array(W::I32, types.size());
    for (int32_t type : types)
      numbers += W::number(type);
    writer.key("tokenizer.ggml.token_type", W::Array, numbers);
    writer.key("tokenizer.ggml.merges", W::Array, W::strings(merges));
    writer.key("tokenizer.ggml.bos_token_id", W::U32, W::number<uint32_t>(0));
    writer.key("tokenizer.chat_template", W::String, W::string("{{ x }}"));
    return writer.str();
  }
};

struct ResourcesTest : testing::Test {
  ResourcesTest()
      : handler(&context,
                [&](Diagnostic &diagnostic) { message = diagnostic.str(); }) {
    context.loadDialect<TfmDialect>();
  }

  /// The resource's bytes, or the message why there are none.
  std::string read(StringRef kind, StringRef contents) {
    TemporaryFile file(contents);
    OpBuilder builder(&context);
    OwningOpRef<ResourceOp> op = ResourceOp::create(
        builder, builder.getUnknownLoc(), "r", kind, file.getPath());
    FailureOr<std::string> bytes = readResource(*op);
    return succeeded(bytes) ? *bytes : message;
  }

  /// Expects the whole message about a key of the tokenizer.
  void expectRefused(const Tokens &tokens, StringRef name,
                     const std::string &text) {
    std::string bytes = tokens.file(), key = ("tokenizer.ggml." + name).str();
    size_t offset = bytes.find(W::string(key));
    EXPECT_EQ(read("tokenizer", bytes), "offset " + std::to_string(offset) +
                                            ": key \"" + key + "\": " + text);
  }

  MLIRContext context;
  std::string message;
  ScopedDiagnosticHandler handler;
};
} // namespace

TEST_F(ResourcesTest, Tokenizer) {
  std::string bytes = read("tokenizer", Tokens().file());
  tfm_tokenizer_header header;
  ASSERT_GT(bytes.size(), sizeof header);
  std::memcpy(&header, bytes.data(), sizeof header);
  EXPECT_EQ(header.magic, TFM_TOKENIZER_MAGIC);
  EXPECT_EQ(header.token_count, 4u);
  EXPECT_EQ(header.word_count, 2u);
  EXPECT_EQ(header.merge_count, 1u);
  EXPECT_EQ(header.model, static_cast<uint32_t>(TFM_MODEL_BPE));
  EXPECT_EQ(header.unknown, TFM_NO_TOKEN);
  // The words "a" and "b", then the merge.
  std::string expected;
  for (uint32_t id : {1, 2, 1, 2, 3})
    expected += W::number(id);
  size_t words = sizeof header + 4 * (header.string_count + 1);
  EXPECT_EQ(bytes.substr(words, expected.size()), expected);
  EXPECT_THAT(bytes, HasSubstr("<s>abab"));
}

TEST_F(ResourcesTest, ChatTemplate) {
  EXPECT_EQ(read("chat_template", Tokens().file()), "{{ x }}");
}

TEST_F(ResourcesTest, RefusesOtherKinds) {
  EXPECT_THAT(read("poem", Tokens().file()),
              HasSubstr("expects kind \"tokenizer\" or \"chat_template\", but "
                        "got \"poem\""));
}

TEST_F(ResourcesTest, RefusesTokensThatContradictEachOther) {
  Tokens tokens;
  tokens.types.pop_back();
  expectRefused(tokens, "token_type",
                "expects the types of 4 tokens, but got 3");
  tokens = {};
  tokens.types.push_back(1);
  expectRefused(tokens, "token_type",
                "expects the types of 4 tokens, but got 5");
  tokens = {};
  tokens.types[0] = 7;
  expectRefused(tokens, "token_type", "expects types from 1 to 6, but got 7");
  tokens = {};
  tokens.types[3] = -1;
  expectRefused(tokens, "token_type", "expects types from 1 to 6, but got -1");
  tokens = {};
  tokens.strings[3] = "a";
  expectRefused(tokens, "tokens",
                "expects tokens that differ, but got the same as 1 and 3");
  tokens = {};
  tokens.strings.clear();
  expectRefused(tokens, "tokens", "expects 1 to 16777216 tokens, but got 0");
}

TEST_F(ResourcesTest, RefusesMergesOfAnythingButTokens) {
  for (const char *merge : {"a c", "c b", "b a", "a", "", " ", "a b "}) {
    Tokens tokens;
    tokens.merges.push_back(merge);
    expectRefused(
        tokens, "merges",
        "expects two tokens that make a third as merge 1, but got \"" +
            std::string(merge) + "\"");
  }
}
