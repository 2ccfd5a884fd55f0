//===- keys-test.cpp - Every key is used, reported or refused -------------===//

#include "test/import/Importer.h"

#include "gtest/gtest.h"
#include <cmath>
#include <variant>

using namespace mlir;
using namespace mlir::tfm;
using W = GgufWriter;

namespace {
struct Bytes {
  uint32_t type;
  std::string bytes;
};

struct Key {
  const char *name;
  std::variant<int, float, bool, const char *, Bytes> value;
};

/// A key whose value is an error, and what the message says of it.
struct RefusedKey : Key {
  std::string expected, found;
};

std::string only(const char *value) {
  return std::string(value) + ", since nothing else is supported";
}

const char *const kNone = "no such key, since it is not supported";
const char *const kToken = "a token below the vocabulary's size V = 6";

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

// Each of them changes logits, tokens, or what the file is.
const RefusedKey kRefused[] = {
    {{"general.architecture", "gpt2"}, "\"llama\"", "\"gpt2\""},
    {{"general.type", "adapter"}, only("\"model\""), "\"adapter\""},
    {{"general.quantization_version", 1}, "2", "1"},
    {{"split.count", 3}, "a model in one file", "one in 3"},
    {{"llama.context_length", 0}, "a length from 1 to 2147483647", "0"},
    {{"llama.block_count", "two"}, "an integer", "\"two\""},
    {{"llama.block_count", 0}, "a size from 1 to 2147483647", "0"},
    {{"llama.vocab_size", 7}, "the number of the tokenizer's tokens 6", "7"},
    {{"llama.attention.head_count_kv", 4},
     "a divisor of the number of query heads 2",
     "4"},
    {{"llama.attention.layer_norm_rms_epsilon", -1.0f},
     "a finite f32 of at least 0",
     "-1"},
    {{"llama.attention.layer_norm_rms_epsilon",
      Bytes{W::F64, W::number(1e300)}},
     "a finite f32 of at least 0",
     "1e+300"},
    {{"llama.rope.dimension_count", 1},
     "an even number up to the head size 2",
     "1"},
    {{"llama.rope.freq_base", NAN}, "a finite number above 0", "nan"},
    {{"llama.rope.freq_base", 0.0f}, "a finite number above 0", "0"},
    {{"llama.rope.freq_base", HUGE_VALF}, "a finite number above 0", "inf"},
    {{"llama.attention.causal", false}, only("true"), "false"},
    {{"llama.attention.clamp_kqv", 8.0f}, only("0"), "8"},
    {{"llama.attention.max_alibi_bias", 8.0f}, only("0"), "8"},
    {{"llama.attention.scale", 0.0625f}, only("0"), "0.0625"},
    {{"llama.attention.shared_kv_layers", 2}, only("0"), "2"},
    {{"llama.attention.sliding_window", 4096}, only("0"), "4096"},
    {{"llama.attention.layer_norm_epsilon", 1e-5f}, kNone, "1e-05"},
    {{"llama.attention.group_norm_epsilon", 1e-5f}, kNone, "1e-05"},
    {{"llama.attention.temperature_length", 8}, kNone, "8"},
    {{"llama.attn_logit_softcapping", 50.0f}, only("0"), "50"},
    {{"llama.embedding_scale", 12.0f}, only("1"), "12"},
    {{"llama.expert_count", 8}, only("0"), "8"},
    {{"llama.expert_shared_count", 1}, only("0"), "1"},
    {{"llama.expert_used_count", 2}, only("0"), "2"},
    {{"llama.expert_weights_scale", 2.5f}, kNone, "2.5"},
    {{"llama.final_logit_softcapping", 30.0f}, only("0"), "30"},
    {{"llama.leading_dense_block_count", 1}, only("0"), "1"},
    {{"llama.logit_scale", 0.0625f}, only("1"), "0.0625"},
    {{"llama.nextn_predict_layers", 1}, only("0"), "1"},
    {{"llama.pooling_type", 1}, only("0"), "1"},
    {{"llama.residual_scale", 0.22f}, only("1"), "0.22"},
    {{"llama.rope.dimension_sections",
      Bytes{W::Array, W::array(W::U32, 1) + W::number(1)}},
     kNone,
     "1 integers"},
    {{"llama.rope.freq_base_swa", 10000.0f}, kNone, "10000"},
    {{"llama.rope.scale_linear", 2.0f}, only("1"), "2"},
    {{"llama.rope.scaling.attn_factor", 0.1f}, only("1"), "0.1"},
    {{"llama.rope.scaling.factor", 1.0000001f}, only("1"), "1.0000001"},
    {{"llama.rope.scaling.original_context_length", "8k"},
     "an integer",
     "\"8k\""},
    {{"llama.rope.scaling.type", "linear"}, only("\"none\""), "\"linear\""},
    {{"llama.rope.scaling.type", "yarn"}, only("\"none\""), "\"yarn\""},
    {{"llama.rope.scaling.yarn_log_multiplier", 0.1f}, kNone, "0.1"},
    {{"llama.tensor_data_layout", "reference"},
     only("\"Meta AI original pth\""),
     "\"reference\""},
    {{"llama.use_parallel_residual", true}, only("false"), "true"},
    {{"llama.attention.head_count",
      Bytes{W::Array, W::array(W::U32, 1) + W::number(2)}},
     "an integer",
     "1 integers"},
    {{"tokenizer.ggml.add_eos_token", true}, only("false"), "true"},
    {{"tokenizer.ggml.add_sep_token", true}, only("false"), "true"},
    {{"tokenizer.ggml.add_space_prefix", true}, only("false"), "true"},
    {{"tokenizer.ggml.remove_extra_whitespaces", true}, only("false"), "true"},
    {{"tokenizer.ggml.precompiled_charsmap",
      Bytes{W::Array, W::array(W::U8, 1) + "x"}},
     only("0 integers"),
     "1 integers"},
    {{"tokenizer.ggml.model", "llama"}, only("\"gpt2\""), "\"llama\""},
    {{"tokenizer.ggml.pre", "default"},
     "one of \"smollm\", \"gpt-2\", \"llama-bpe\", \"llama3\", \"llama-v3\", "
     "\"qwen2\"",
     "\"default\""},
    {{"tokenizer.ggml.scores", Bytes{W::Array, W::array(W::F32, 1) + "0000"}},
     only("6 floats"),
     "1 floats"},
    {{"tokenizer.ggml.scores", Bytes{W::Array, W::array(W::U32, 0)}},
     only("6 floats"),
     "0 integers"},
    {{"tokenizer.ggml.tokens", Bytes{W::Array, W::array(W::U8, 1) + "x"}},
     "an array of strings",
     "1 integers"},
    {{"tokenizer.ggml.tokens", 5}, "an array of strings", "5"},
    {{"tokenizer.ggml.merges", Bytes{W::Array, W::array(W::I32, 0)}},
     "an array of strings",
     "0 integers"},
    {{"tokenizer.ggml.merges", Bytes{W::Array, W::strings({"a b", "a z"})}},
     "two tokens that make a third as merge 1",
     "\"a z\""},
    {{"tokenizer.ggml.token_type", Bytes{W::Array, W::strings({})}},
     "an array of integers",
     "0 strings"},
    {{"tokenizer.ggml.token_type", Bytes{W::Array, W::array(W::I32, 0)}},
     "the types of 6 tokens",
     "0"},
    {{"tokenizer.ggml.bos_token_id", 6}, kToken, "6"},
    {{"tokenizer.ggml.eos_token_id", Bytes{W::I32, W::number<int32_t>(-2)}},
     kToken,
     "-2"},
    {{"tokenizer.ggml.unknown_token_id", 6}, kToken, "6"},
    {{"tokenizer.ggml.padding_token_id",
      Bytes{W::U64, "\xff\xff\xff\xff\xff\xff"
                    "\xff\xff"}},
     "an integer below 2^63",
     "more"},
    {{"tokenizer.ggml.seperator_token_id", 100}, kToken, "100"},
    {{"tokenizer.ggml.mask_token_id", 0.5f}, "an integer", "0.5"},
    {{"tokenizer.ggml.token_type_count", 2}, kNone, "2"},
    {{"tokenizer.ggml.add_spaces", true}, kNone, "true"},
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
    {"llama.attention.scale", 0.0f},
    {"llama.attention.shared_kv_layers", 0},
    {"llama.attention.sliding_window", 0},
    {"llama.attn_logit_softcapping", 0.0f},
    {"llama.embedding_scale", 1.0f},
    {"llama.expert_count", 0},
    {"llama.expert_shared_count", 0},
    {"llama.expert_used_count", 0},
    {"llama.final_logit_softcapping", 0.0f},
    {"llama.leading_dense_block_count", 0},
    {"llama.logit_scale", 1.0f},
    {"llama.nextn_predict_layers", 0},
    {"llama.pooling_type", 0},
    {"llama.residual_scale", 1.0f},
    {"llama.rope.dimension_count", 2},
    {"llama.rope.freq_base", 10000.0f},
    {"llama.rope.scale_linear", 1.0f},
    {"llama.rope.scaling.attn_factor", 1.0f},
    {"llama.rope.scaling.factor", 1.0f},
    {"llama.rope.scaling.finetuned", true},
    {"llama.rope.scaling.original_context_length", 32},
    {"llama.rope.scaling.type", "none"},
    {"llama.tensor_data_layout", "Meta AI original pth"},
    {"llama.use_parallel_residual", false},
    {"tokenizer.ggml.add_bos_token", true},
    {"tokenizer.ggml.add_eos_token", false},
    {"tokenizer.ggml.add_sep_token", false},
    {"tokenizer.ggml.add_space_prefix", false},
    {"tokenizer.ggml.remove_extra_whitespaces", false},
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
    {"tokenizer.ggml.fim_pre_token_id", 1},
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
  for (const RefusedKey &key : kRefused) {
    SCOPED_TRACE(key.name);
    TinyLlama file = with(key);
    Importer importer(file);
    EXPECT_FALSE(importer.module);
    EXPECT_EQ(importer.messages,
              "file: error: offset " +
                  std::to_string(file.str().find(W::string(key.name))) +
                  ": key \"" + key.name + "\": expects " + key.expected +
                  ", but got " + key.found + "\n");
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
              "file: remark: unused keys: " + std::string(key.name) + "\n");
  }
}

TEST(Keys, ReportedOnesShareARemark) {
  TinyLlama file;
  file.set("general.license", "mit");
  file.set("general.url", "x");
  EXPECT_EQ(Importer(file).messages,
            "file: remark: unused keys: general.license, general.url\n");
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
  EXPECT_EQ(Importer(file).messages,
            "file: error: key \"tokenizer.ggml.bos_token_id\": expects the "
            "token that prompts start with, but got no such key\n");
}

TEST(Keys, NeededOnesMayNotBeMissing) {
  for (auto [key, kind] :
       {std::pair("general.architecture", "a string"),
        std::pair("llama.block_count", "an integer"),
        std::pair("llama.context_length", "an integer"),
        std::pair("llama.embedding_length", "an integer"),
        std::pair("llama.feed_forward_length", "an integer"),
        std::pair("llama.attention.head_count", "an integer"),
        std::pair("llama.attention.layer_norm_rms_epsilon", "a float"),
        std::pair("tokenizer.ggml.model", "a string"),
        std::pair("tokenizer.ggml.pre", "a string"),
        std::pair("tokenizer.ggml.tokens", "an array of strings"),
        std::pair("tokenizer.ggml.token_type", "an array of integers"),
        std::pair("tokenizer.ggml.merges", "an array of strings")}) {
    TinyLlama file;
    file.unset(key);
    EXPECT_EQ(Importer(file).messages, std::string("file: error: key \"") +
                                           key + "\": expects " + kind +
                                           ", but got no such key\n");
  }
}
