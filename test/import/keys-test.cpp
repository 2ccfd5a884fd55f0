//===- keys-test.cpp - Every key is used, reported or refused -------------===//

#include "import/Import.h"
#include "test/import/TinyLlama.h"

#include "dialect/TfmDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <variant>

using namespace mlir;
using namespace mlir::tfm;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using W = GgufWriter;

namespace {
struct Bytes {
  uint32_t type;
  std::string bytes;
};

/// A key with its value, and how that value reads in a message.
struct Key {
  const char *name;
  std::variant<int, float, bool, const char *, Bytes> value;
  const char *text = "";
};

void set(TinyLlama &file, const Key &key) {
  std::visit(
      [&]<typename T>(const T &value) {
        if constexpr (std::is_same_v<T, Bytes>)
          file.set(key.name, value.type, value.bytes);
        else
          file.set(key.name, value);
      },
      key.value);
}

class Importer {
public:
  explicit Importer(const TinyLlama &tiny) : file(tiny.str()) {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      llvm::raw_string_ostream(messages)
          << (diagnostic.getSeverity() == DiagnosticSeverity::Error
                  ? "error: "
                  : "remark: ")
          << diagnostic.str() << '\n';
    });
    module = importModel(file.getPath(), context);
  }

  ModelAttr model() const {
    return module ? (*module)->getAttrOfType<ModelAttr>("tfm.model")
                  : ModelAttr();
  }

  TemporaryFile file;
  MLIRContext context;
  std::string messages;
  OwningOpRef<ModuleOp> module;
};

// Each of them changes logits, tokens, or what the file is.
const Key kRefused[] = {
    {"general.architecture", "gpt2", "\"gpt2\""},
    {"general.type", "adapter", "\"adapter\""},
    {"general.quantization_version", 1, "1"},
    {"split.count", 3, "3"},
    {"llama.attention.causal", false, "false"},
    {"llama.attention.clamp_kqv", 8.0f, "8"},
    {"llama.attention.max_alibi_bias", 8.0f, "8"},
    {"llama.attention.scale", 0.0625f, "0.0625"},
    {"llama.attention.shared_kv_layers", 2, "2"},
    {"llama.attention.sliding_window", 4096, "4096"},
    {"llama.attention.layer_norm_epsilon", 1e-5f, "1e-05"},
    {"llama.attention.group_norm_epsilon", 1e-5f, "1e-05"},
    {"llama.attention.temperature_length", 8, "8"},
    {"llama.attn_logit_softcapping", 50.0f, "50"},
    {"llama.embedding_scale", 12.0f, "12"},
    {"llama.expert_count", 8, "8"},
    {"llama.expert_shared_count", 1, "1"},
    {"llama.expert_used_count", 2, "2"},
    {"llama.expert_weights_scale", 2.5f, "2.5"},
    {"llama.final_logit_softcapping", 30.0f, "30"},
    {"llama.leading_dense_block_count", 1, "1"},
    {"llama.logit_scale", 0.0625f, "0.0625"},
    {"llama.nextn_predict_layers", 1, "1"},
    {"llama.pooling_type", 1, "1"},
    {"llama.residual_scale", 0.22f, "0.22"},
    {"llama.rope.dimension_sections",
     Bytes{W::Array, W::array(W::U32, 1) + W::number(1)}, "1 integers"},
    {"llama.rope.freq_base_swa", 10000.0f, "10000"},
    {"llama.rope.scale_linear", 2.0f, "2"},
    {"llama.rope.scaling.attn_factor", 0.1f, "0.1"},
    {"llama.rope.scaling.factor", 1.0000001f, "1.0000001"},
    {"llama.rope.scaling.original_context_length", "8k", "\"8k\""},
    {"llama.rope.scaling.type", "linear", "\"linear\""},
    {"llama.rope.scaling.type", "yarn", "\"yarn\""},
    {"llama.rope.scaling.yarn_log_multiplier", 0.1f, "0.1"},
    {"llama.tensor_data_layout", "Meta AI original pth",
     "\"Meta AI original pth\""},
    {"llama.use_parallel_residual", true, "true"},
    {"llama.attention.head_count",
     Bytes{W::Array, W::array(W::U32, 1) + W::number(2)}, "1 integers"},
    {"tokenizer.ggml.add_eos_token", true, "true"},
    {"tokenizer.ggml.add_sep_token", true, "true"},
    {"tokenizer.ggml.add_space_prefix", true, "true"},
    {"tokenizer.ggml.remove_extra_whitespaces", true, "true"},
    {"tokenizer.ggml.precompiled_charsmap",
     Bytes{W::Array, W::array(W::U8, 1) + "x"}, "1 integers"},
    {"tokenizer.ggml.model", "llama", "\"llama\""},
    {"tokenizer.ggml.pre", "default", "\"default\""},
    {"tokenizer.ggml.scores", Bytes{W::Array, W::array(W::F32, 1) + "0000"},
     "1 floats"},
    {"tokenizer.ggml.scores", Bytes{W::Array, W::array(W::U32, 0)},
     "0 integers"},
    {"tokenizer.ggml.tokens", Bytes{W::Array, W::array(W::U8, 1) + "x"},
     "1 integers"},
    {"tokenizer.ggml.tokens", 5, "5"},
    {"tokenizer.ggml.merges", Bytes{W::Array, W::array(W::I32, 0)},
     "0 integers"},
    {"tokenizer.ggml.merges", Bytes{W::Array, W::strings({"a b", "a z"})},
     "merge 1, but got \"a z\""},
    {"tokenizer.ggml.token_type", Bytes{W::Array, W::strings({})}, "0 strings"},
    {"tokenizer.ggml.token_type", Bytes{W::Array, W::array(W::I32, 0)}, "0"},
    {"tokenizer.ggml.bos_token_id", 6, "6"},
    {"tokenizer.ggml.eos_token_id", Bytes{W::I32, W::number<int32_t>(-2)},
     "-2"},
    {"tokenizer.ggml.unknown_token_id", 6, "6"},
    {"tokenizer.ggml.padding_token_id",
     Bytes{W::U64, "\xff\xff\xff\xff\xff\xff"
                   "\xff\xff"},
     "more"},
    {"tokenizer.ggml.seperator_token_id", 100, "100"},
    {"tokenizer.ggml.mask_token_id", 0.0f, "0"},
};

// None of them changes anything.
const Key kNeutral[] = {
    {"general.type", "model"},
    {"general.alignment", 32},
    {"general.quantization_version", 2},
    {"split.count", 0},
    {"llama.vocab_size", 6},
    {"llama.attention.causal", true},
    {"llama.attention.clamp_kqv", 0.0f},
    {"llama.attention.key_length", 2},
    {"llama.attention.value_length", 2},
    {"llama.attention.max_alibi_bias", 0.0f},
    {"llama.attention.sliding_window", 0},
    {"llama.attn_logit_softcapping", 0.0f},
    {"llama.embedding_scale", 1.0f},
    {"llama.expert_count", 0},
    {"llama.expert_used_count", 0},
    {"llama.logit_scale", 1.0f},
    {"llama.residual_scale", 1.0f},
    {"llama.rope.dimension_count", 2},
    {"llama.rope.freq_base", 10000.0f},
    {"llama.rope.scaling.attn_factor", 1.0f},
    {"llama.rope.scaling.factor", 1.0f},
    {"llama.rope.scaling.finetuned", true},
    {"llama.rope.scaling.original_context_length", 32},
    {"llama.rope.scaling.type", "none"},
    {"llama.use_parallel_residual", false},
    {"tokenizer.ggml.add_bos_token", true},
    {"tokenizer.ggml.add_eos_token", false},
    {"tokenizer.ggml.add_space_prefix", false},
    {"tokenizer.ggml.precompiled_charsmap",
     Bytes{W::Array, W::array(W::I8, 0)}},
    {"tokenizer.ggml.scores",
     Bytes{W::Array, W::array(W::F32, 6) + std::string(24, '0')}},
    {"tokenizer.ggml.unknown_token_id", 5},
    {"tokenizer.ggml.padding_token_id", 5},
    {"tokenizer.ggml.seperator_token_id", 5},
    {"tokenizer.ggml.mask_token_id", 5},
    {"tokenizer.chat_template", "{{ messages }}"},
};

// They say something that has no part in the model's text.
const Key kReported[] = {
    {"general.license", "mit"},
    {"general.file_type", 3},
    {"general.sampling.temp", 0.7f},
    {"tokenizer.ggml.eot_token_id", 1},
    {"tokenizer.huggingface.json", "{}"},
    {"quantize.imatrix.file", "x"},
    {"Llama.expert_count", 8},
};

/// The tiny model with a key added or replaced.
TinyLlama with(const Key &key) {
  TinyLlama file;
  set(file, key);
  return file;
}
} // namespace

TEST(Keys, TinyLlamaIsImported) {
  Importer importer{TinyLlama()};
  EXPECT_TRUE(importer.module);
  EXPECT_EQ(importer.messages, "");
}

TEST(Keys, RefusedOnesAreNamedWithTheirValue) {
  for (const Key &key : kRefused) {
    SCOPED_TRACE(std::string(key.name) + " " + key.text);
    Importer importer(with(key));
    EXPECT_FALSE(importer.module);
    EXPECT_THAT(importer.messages, StartsWith("error: offset "));
    EXPECT_THAT(importer.messages,
                HasSubstr(": key \"" + std::string(key.name) + "\": expects "));
    EXPECT_THAT(importer.messages, HasSubstr(", but got "));
    EXPECT_THAT(importer.messages, EndsWith(std::string(key.text) + "\n"));
  }
}

TEST(Keys, NeutralOnesChangeNothing) {
  for (const Key &key : kNeutral) {
    SCOPED_TRACE(key.name);
    Importer importer(with(key));
    EXPECT_TRUE(importer.module);
    EXPECT_EQ(importer.messages, "");
  }
}

TEST(Keys, OthersAreReported) {
  for (const Key &key : kReported) {
    SCOPED_TRACE(key.name);
    Importer importer(with(key));
    EXPECT_TRUE(importer.module);
    EXPECT_EQ(importer.messages,
              "remark: unused keys: " + std::string(key.name) + "\n");
  }
}

TEST(Keys, ReportedOnesShareARemark) {
  TinyLlama file;
  file.set("general.license", "mit");
  file.set("general.url", "x");
  EXPECT_EQ(Importer(file).messages,
            "remark: unused keys: general.license, general.url\n");
}

TEST(Keys, PreTokenizersSayWhetherPromptsHaveAStart) {
  for (auto [pre, addsBos] :
       {std::pair("smollm", false), std::pair("gpt-2", false),
        std::pair("qwen2", false), std::pair("llama-bpe", true),
        std::pair("llama3", true), std::pair("llama-v3", true)}) {
    TinyLlama file;
    file.set("tokenizer.ggml.pre", pre);
    EXPECT_EQ(Importer(file).model().getAddBos(), addsBos) << pre;
    // What the file says goes first.
    file.set("tokenizer.ggml.add_bos_token", !addsBos);
    EXPECT_EQ(Importer(file).model().getAddBos(), !addsBos) << pre;
  }
}

TEST(Keys, AStartThatIsAddedMustBeKnown) {
  TinyLlama file;
  file.unset("tokenizer.ggml.bos_token_id");
  EXPECT_EQ(Importer(file).model().getBos(), -1);
  file.set("tokenizer.ggml.pre", "llama-bpe");
  EXPECT_THAT(Importer(file).messages,
              HasSubstr("key \"tokenizer.ggml.bos_token_id\": expects the "
                        "token that prompts start with, but got no such key"));
}
