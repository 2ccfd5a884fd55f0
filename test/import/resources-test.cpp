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
  std::string expected = "TFMTOKEN";
  for (uint32_t field : {1, 1, 4, 1, 7, 0}) // version ... reserved
    expected += W::number(field);
  for (uint32_t offset : {0, 3, 4, 5, 7})
    expected += W::number(offset);
  for (uint32_t id : {1, 2, 3})
    expected += W::number(id);
  expected += "\3\1\1\4";
  expected += "<s>abab";
  EXPECT_EQ(read("tokenizer", Tokens().file()), expected);
}

TEST_F(ResourcesTest, PreTokenizers) {
  for (auto [pre, kind] : {std::pair("smollm", TFM_PRE_TOKENIZER_SMOLLM),
                           std::pair("gpt-2", TFM_PRE_TOKENIZER_GPT2),
                           std::pair("llama-bpe", TFM_PRE_TOKENIZER_LLAMA_BPE),
                           std::pair("llama3", TFM_PRE_TOKENIZER_LLAMA_BPE),
                           std::pair("llama-v3", TFM_PRE_TOKENIZER_LLAMA_BPE),
                           std::pair("qwen2", TFM_PRE_TOKENIZER_QWEN2)}) {
    Tokens tokens;
    tokens.pre = pre;
    EXPECT_EQ(read("tokenizer", tokens.file()).substr(12, 4),
              W::number<uint32_t>(kind));
  }
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
