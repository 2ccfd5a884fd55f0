//===- Llama.cpp - The graph of "llama" models ----------------------------===//
//
// Decoders with pre-norm by root mean square, rotary positions, grouped-query
// attention and a gated feed-forward network (Touvron et al., 2023), named as
// llama.cpp names their tensors. The graph is the textbook's: scores, scale,
// mask, softmax and mix stand apart.
//
//===----------------------------------------------------------------------===//

#include "import/architectures/Llama.h"

#include "dialect/TfmDialect.h"
#include "import/GgufWeights.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace mlir::tfm;
using llvm::Error;

namespace {
struct Config {
  int64_t layers;
  int64_t heads, groups;      ///< H, G
  int64_t keySize, valueSize; ///< D of keys and of values
  int64_t modelSize;          ///< E
  int64_t feedForwardSize;    ///< F
  int64_t vocabulary;         ///< V
  int64_t ropeDims;
  double theta, epsilon;
  bool isTied; ///< the embedding is the output matrix, too
};

/// Reads the keys that begin with "llama.".
class ConfigReader {
public:
  ConfigReader(GgufFile &file, Config &config) : file(file), config(config) {}

  Error read(int64_t vocabulary);

private:
  Error readSize(StringRef name, int64_t &size,
                 std::optional<int64_t> fallback = {});
  Error readSizes();
  Error readNumbers();
  Error checkRest();

  GgufFile &file;
  Config &config;
};

/// Builds `@forward` from declared weights.
class GraphBuilder {
public:
  GraphBuilder(const Config &config, const GgufWeights &weights,
               ModuleOp module)
      : config(config), weights(weights),
        builder(OpBuilder::atBlockEnd(module.getBody())) {}

  void build();

private:
  Value attention(const std::string &layer, Value input);
  Value feedForward(const std::string &layer, Value input);

  /// An operation's location is the name of the tensor that it belongs to.
  Location at(StringRef name) {
    return NameLoc::get(builder.getStringAttr(name));
  }
  Value norm(StringRef name, Value input);
  Value linear(StringRef name, Value input);
  Value projectHeads(StringRef name, Value input, int64_t heads);
  Value rope(StringRef name, Value input);

  const Config &config;
  const GgufWeights &weights;
  OpBuilder builder;
  Value causalMask;
};
} // namespace

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral kPrefix = "llama.";

/// Keys that change the mathematics, and the one value that leaves them alone.
static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral>
    kNeutral[] = {
        {"llama.attention.causal", "true"},
        {"llama.attention.clamp_kqv", "0"},
        {"llama.attention.max_alibi_bias", "0"},
        {"llama.attention.scale", "0"},
        {"llama.attention.shared_kv_layers", "0"},
        {"llama.attention.sliding_window", "0"},
        {"llama.attn_logit_softcapping", "0"},
        {"llama.embedding_scale", "1"},
        {"llama.expert_count", "0"},
        {"llama.expert_shared_count", "0"},
        {"llama.expert_used_count", "0"},
        {"llama.final_logit_softcapping", "0"},
        {"llama.leading_dense_block_count", "0"},
        {"llama.logit_scale", "1"},
        {"llama.nextn_predict_layers", "0"},
        {"llama.pooling_type", "0"},
        {"llama.residual_scale", "1"},
        {"llama.rope.scale_linear", "1"},
        {"llama.rope.scaling.attn_factor", "1"},
        {"llama.rope.scaling.factor", "1"},
        {"llama.rope.scaling.type", "\"none\""},
        {"llama.tensor_data_layout", "\"Meta AI original pth\""},
        {"llama.use_parallel_residual", "false"},
};

Error ConfigReader::read(int64_t vocabulary) {
  config.vocabulary = vocabulary;
  if (Error error = readSizes())
    return error;
  if (Error error = readNumbers())
    return error;
  return checkRest();
}

Error ConfigReader::readSize(StringRef name, int64_t &size,
                             std::optional<int64_t> fallback) {
  std::string key = (kPrefix + name).str();
  llvm::Expected<int64_t> value = file.getInt(key, fallback);
  if (!value)
    return value.takeError();
  size = *value;
  if (size < 1 || size > INT32_MAX)
    return file.keyError(key, "expects a size from 1 to " + Twine(INT32_MAX) +
                                  ", but got " + Twine(size));
  return Error::success();
}

Error ConfigReader::readSizes() {
  for (auto [name, size] :
       {std::pair("block_count", &config.layers),
        std::pair("embedding_length", &config.modelSize),
        std::pair("feed_forward_length", &config.feedForwardSize),
        std::pair("attention.head_count", &config.heads)})
    if (Error error = readSize(name, *size))
      return error;

  if (Error error =
          readSize("attention.head_count_kv", config.groups, config.heads))
    return error;
  if (config.heads % config.groups != 0)
    return file.keyError("llama.attention.head_count_kv",
                         "expects a divisor of the number of query heads " +
                             Twine(config.heads) + ", but got " +
                             Twine(config.groups));

  int64_t headSize = config.modelSize / config.heads;
  if (Error error = readSize("attention.key_length", config.keySize, headSize))
    return error;
  if (Error error =
          readSize("attention.value_length", config.valueSize, headSize))
    return error;
  if (Error error =
          readSize("rope.dimension_count", config.ropeDims, config.keySize))
    return error;
  if (config.ropeDims % 2 != 0 || config.ropeDims > config.keySize)
    return file.keyError("llama.rope.dimension_count",
                         "expects an even number up to the head size " +
                             Twine(config.keySize) + ", but got " +
                             Twine(config.ropeDims));

  int64_t vocabulary;
  if (Error error = readSize("vocab_size", vocabulary, config.vocabulary))
    return error;
  if (vocabulary != config.vocabulary)
    return file.keyError("llama.vocab_size",
                         "expects the number of the tokenizer's tokens " +
                             Twine(config.vocabulary) + ", but got " +
                             Twine(vocabulary));
  return Error::success();
}

Error ConfigReader::readNumbers() {
  constexpr llvm::StringLiteral theta = "llama.rope.freq_base";
  constexpr llvm::StringLiteral epsilon =
      "llama.attention.layer_norm_rms_epsilon";
  if (Error error = file.getFloat(theta, 10000.0).moveInto(config.theta))
    return error;
  if (!std::isfinite(config.theta) || config.theta <= 0)
    return file.keyError(theta, "expects a finite number above 0, but got " +
                                    *file.describeValue(theta));
  if (Error error = file.getFloat(epsilon).moveInto(config.epsilon))
    return error;
  if (!std::isfinite(static_cast<float>(config.epsilon)) || config.epsilon < 0)
    return file.keyError(epsilon, "expects a finite f32 of at least 0, but "
                                  "got " +
                                      *file.describeValue(epsilon));
  return Error::success();
}

Error ConfigReader::checkRest() {
  for (auto [key, neutral] : kNeutral)
    if (Error error = file.checkNeutral(key, neutral))
      return error;
  // These two say how a scaling, which is ruled out by now, was made.
  if (Error error = file.getInt("llama.rope.scaling.original_context_length", 0)
                        .takeError())
    return error;
  if (Error error =
          file.getBool("llama.rope.scaling.finetuned", false).takeError())
    return error;
  for (StringRef key : file.getUnusedKeys())
    if (key.starts_with(kPrefix))
      return file.unknownKeyError(key);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

static std::string layerName(int64_t layer) {
  return "blk." + std::to_string(layer) + ".";
}

static Error declareWeights(const Config &config, GgufWeights &weights) {
  int64_t modelSize = config.modelSize, forward = config.feedForwardSize;
  if (Error error =
          weights.declare("token_embd", {config.vocabulary, modelSize}))
    return error;
  using Shape = SmallVector<int64_t, 2>;
  const std::pair<StringRef, Shape> shapes[] = {
      {"attn_norm", {modelSize}},
      {"attn_q", {config.heads * config.keySize, modelSize}},
      {"attn_k", {config.groups * config.keySize, modelSize}},
      {"attn_v", {config.groups * config.valueSize, modelSize}},
      {"attn_output", {modelSize, config.heads * config.valueSize}},
      {"ffn_norm", {modelSize}},
      {"ffn_gate", {forward, modelSize}},
      {"ffn_up", {forward, modelSize}},
      {"ffn_down", {modelSize, forward}}};
  for (int64_t layer = 0; layer != config.layers; ++layer)
    for (const auto &[name, shape] : shapes)
      if (Error error = weights.declare(layerName(layer) + name.str(), shape))
        return error;
  if (Error error = weights.declare("output_norm", {modelSize}))
    return error;
  if (!config.isTied)
    if (Error error = weights.declare("output", {config.vocabulary, modelSize}))
      return error;
  return weights.checkAllDeclared("llama");
}

//===----------------------------------------------------------------------===//
// Graph
//===----------------------------------------------------------------------===//

void GraphBuilder::build() {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  auto tokensType =
      RankedTensorType::get({dynamic, dynamic}, builder.getI32Type());
  auto logitsType = RankedTensorType::get({dynamic, dynamic, config.vocabulary},
                                          builder.getF32Type());
  auto function =
      func::FuncOp::create(builder, at("forward"), "forward",
                           builder.getFunctionType({tokensType}, {logitsType}));
  function.setArgAttr(0, "tfm.name", builder.getStringAttr("tokens"));
  function.setResultAttr(0, "tfm.name", builder.getStringAttr("logits"));
  builder.setInsertionPointToStart(function.addEntryBlock());
  Value tokens = function.getArgument(0);

  Value length = tensor::DimOp::create(builder, at("tokens"), tokens, 1);
  causalMask = CausalMaskOp::create(
      builder, at("causal_mask"),
      RankedTensorType::get({1, 1, dynamic, dynamic}, builder.getI1Type()),
      length, length);
  Value rows = EmbedOp::create(builder, at("token_embd"), tokens,
                               weights.load(builder, "token_embd"));
  for (int64_t layer = 0; layer != config.layers; ++layer) {
    std::string name = layerName(layer);
    rows = AddOp::create(builder, at(name + "attn_output"), rows,
                         attention(name, norm(name + "attn_norm", rows)));
    rows = AddOp::create(builder, at(name + "ffn_down"), rows,
                         feedForward(name, norm(name + "ffn_norm", rows)));
  }
  rows = norm("output_norm", rows);
  Value logits = linear(config.isTied ? "token_embd" : "output", rows);
  func::ReturnOp::create(builder, at("logits"), logits);
}

Value GraphBuilder::attention(const std::string &layer, Value input) {
  Value query = projectHeads(layer + "attn_q", input, config.heads);
  Value key = projectHeads(layer + "attn_k", input, config.groups);
  Value value = projectHeads(layer + "attn_v", input, config.groups);
  query = rope(layer + "attn_q", query);
  key = rope(layer + "attn_k", key);

  Location loc = at(layer + "attn");
  float scale = 1.0 / std::sqrt(static_cast<double>(config.keySize));
  Value scores = ScoresOp::create(builder, loc, query, key);
  scores = ScaleOp::create(builder, loc, scores, llvm::APFloat(scale));
  scores = ApplyMaskOp::create(builder, loc, scores, causalMask);
  Value probabilities = SoftmaxOp::create(builder, loc, scores);
  Value mixed = MixOp::create(builder, loc, probabilities, value);
  Value merged = MergeHeadsOp::create(builder, loc, mixed);
  return linear(layer + "attn_output", merged);
}

Value GraphBuilder::feedForward(const std::string &layer, Value input) {
  Value gate = linear(layer + "ffn_gate", input);
  gate = ActivationOp::create(builder, at(layer + "ffn_gate"),
                              ActivationKind::Silu, gate);
  Value up = linear(layer + "ffn_up", input);
  Value hidden = MulOp::create(builder, at(layer + "ffn_up"), gate, up);
  return linear(layer + "ffn_down", hidden);
}

Value GraphBuilder::norm(StringRef name, Value input) {
  return RmsNormOp::create(builder, at(name), input,
                           weights.load(builder, name),
                           llvm::APFloat(static_cast<float>(config.epsilon)));
}

Value GraphBuilder::linear(StringRef name, Value input) {
  return LinearOp::create(builder, at(name), input, weights.load(builder, name),
                          /*bias=*/Value());
}

Value GraphBuilder::projectHeads(StringRef name, Value input, int64_t heads) {
  return SplitHeadsOp::create(builder, at(name), linear(name, input), heads);
}

Value GraphBuilder::rope(StringRef name, Value input) {
  return RopeOp::create(builder, at(name), input, /*offsets=*/Value(),
                        RopeStyle::Interleaved, config.ropeDims,
                        llvm::APFloat(config.theta));
}

Error mlir::tfm::importLlama(GgufFile &file, int64_t vocabulary,
                             ModuleOp module) {
  Config config;
  if (Error error = ConfigReader(file, config).read(vocabulary))
    return error;
  GgufWeights weights(file, module);
  config.isTied = !weights.has("output");
  if (Error error = declareWeights(config, weights))
    return error;
  GraphBuilder(config, weights, module).build();
  return Error::success();
}
