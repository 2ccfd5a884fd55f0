//===- Bert.cpp - The graph of "bert" models ------------------------------===//
//
// Encoders with post-norm, learned positions and token types (Devlin et al.,
// 2019), named as Hugging Face names their tensors. All tokens of a text are of
// type 0.
//
//===----------------------------------------------------------------------===//

#include "import/architectures/Bert.h"

#include "import/SafetensorsWeights.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
using namespace mlir::tfm;
using llvm::Error;

namespace {
struct Config {
  int64_t layers;
  int64_t heads;           ///< H
  int64_t modelSize;       ///< E
  int64_t feedForwardSize; ///< F
  int64_t vocabulary;      ///< V
  int64_t positions, types;
  double epsilon;
  ActivationKind activation;
};

/// Builds `@embed` from declared weights.
class GraphBuilder {
public:
  GraphBuilder(const Config &config, const std::string &prefix,
               const SafetensorsWeights &weights, ModuleOp module)
      : config(config), prefix(prefix), weights(weights),
        builder(OpBuilder::atBlockEnd(module.getBody())) {}

  void build(const SentencePooling &pooling);

private:
  Value embeddings(Value tokens);
  Value attention(const std::string &layer, Value input);

  /// An operation's location is the name of the module that it belongs to.
  Location at(StringRef name) {
    return NameLoc::get(builder.getStringAttr(name));
  }
  Value norm(const std::string &name, Value input);
  Value linear(const std::string &name, Value input);
  Value projectHeads(const std::string &name, Value input);

  const Config &config;
  const std::string &prefix;
  const SafetensorsWeights &weights;
  OpBuilder builder;
};
} // namespace

//===----------------------------------------------------------------------===//
// config.json
//===----------------------------------------------------------------------===//

/// Keys that change the mathematics, and the one value that leaves them alone.
static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral>
    kNeutral[] = {
        {"add_cross_attention", "false"},
        {"chunk_size_feed_forward", "0"},
        {"is_decoder", "false"},
        {"is_encoder_decoder", "false"},
        {"position_embedding_type", "\"absolute\""},
        {"pruned_heads", "{}"},
};

/// Keys that say how a model was trained, how its outputs are packed or what
/// wrote the file.
static constexpr llvm::StringLiteral kNotForInference[] = {
    "_name_or_path",
    "architectures",
    "attention_probs_dropout_prob",
    "classifier_dropout",
    "dtype",
    "gradient_checkpointing",
    "hidden_dropout_prob",
    "initializer_range",
    "model_type",
    "output_attentions",
    "output_hidden_states",
    "pad_token_id",
    "return_dict",
    "tie_word_embeddings",
    "torch_dtype",
    "transformers_version",
    "use_cache",
};

static llvm::Expected<ActivationKind> readActivation(JsonFile &file) {
  constexpr StringRef key = "hidden_act";
  llvm::Expected<std::string> name = file.getString(key, "gelu");
  if (!name)
    return name.takeError();
  auto kind =
      llvm::StringSwitch<std::optional<ActivationKind>>(*name)
          .Case("gelu", ActivationKind::Gelu)
          .Cases({"gelu_new", "gelu_pytorch_tanh"}, ActivationKind::GeluTanh)
          .Case("relu", ActivationKind::Relu)
          .Cases({"silu", "swish"}, ActivationKind::Silu)
          .Default(std::nullopt);
  if (kind)
    return *kind;
  return file.keyError(key, "expects gelu, gelu_new, relu or silu, but got " +
                                file.describeValue(key));
}

static Error readConfig(JsonFile &file, Config &config) {
  for (auto [key, size] :
       {std::pair("num_hidden_layers", &config.layers),
        std::pair("num_attention_heads", &config.heads),
        std::pair("hidden_size", &config.modelSize),
        std::pair("intermediate_size", &config.feedForwardSize),
        std::pair("vocab_size", &config.vocabulary),
        std::pair("max_position_embeddings", &config.positions),
        std::pair("type_vocab_size", &config.types)})
    if (Error error = file.getSize(key).moveInto(*size))
      return error;
  if (config.modelSize % config.heads != 0)
    return file.keyError("num_attention_heads",
                         "expects a divisor of hidden_size " +
                             Twine(config.modelSize) + ", but got " +
                             Twine(config.heads));
  if (Error error =
          file.getFloat("layer_norm_eps", 1e-12).moveInto(config.epsilon))
    return error;
  if (!(config.epsilon >= 0) ||
      !std::isfinite(static_cast<float>(config.epsilon)))
    return file.keyError("layer_norm_eps",
                         "expects a finite f32 of at least 0, but got " +
                             file.describeValue("layer_norm_eps"));
  if (Error error = readActivation(file).moveInto(config.activation))
    return error;
  for (auto [key, neutral] : kNeutral)
    if (Error error = file.checkNeutral(key, neutral))
      return error;
  for (StringRef key : kNotForInference)
    file.ignore(key);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral kTokenType = "embeddings.token_type_0";

static std::string layerName(int64_t layer) {
  return "encoder.layer." + std::to_string(layer) + ".";
}

/// Declares the weight and the bias of the module `name`.
static Error declareModule(SafetensorsWeights &weights, const std::string &name,
                           ArrayRef<int64_t> shape) {
  if (Error error = weights.declare(name + ".weight", shape))
    return error;
  return weights.declare(name + ".bias", shape.front());
}

static Error declareWeights(const Config &config, const std::string &prefix,
                            SafetensorsWeights &weights) {
  int64_t size = config.modelSize, forward = config.feedForwardSize;
  std::string embeddings = prefix + "embeddings.";
  for (auto [name, rows] :
       {std::pair("word_embeddings.weight", config.vocabulary),
        std::pair("position_embeddings.weight", config.positions)})
    if (Error error = weights.declare(embeddings + name, {rows, size}))
      return error;
  if (Error error = weights.declareRow(
          prefix + kTokenType.str(),
          embeddings + "token_type_embeddings.weight", 0, config.types, size))
    return error;
  if (Error error = declareModule(weights, embeddings + "LayerNorm", size))
    return error;

  using Shape = SmallVector<int64_t, 2>;
  const std::pair<const char *, Shape> shapes[] = {
      {"attention.self.query", {size, size}},
      {"attention.self.key", {size, size}},
      {"attention.self.value", {size, size}},
      {"attention.output.dense", {size, size}},
      {"attention.output.LayerNorm", {size}},
      {"intermediate.dense", {forward, size}},
      {"output.dense", {size, forward}},
      {"output.LayerNorm", {size}}};
  for (int64_t layer = 0; layer != config.layers; ++layer)
    for (const auto &[name, shape] : shapes)
      if (Error error =
              declareModule(weights, prefix + layerName(layer) + name, shape))
        return error;
  return Error::success();
}

/// Heads for other tasks, and what other versions stored along.
static bool isBesideTheEncoder(StringRef name, StringRef prefix) {
  if (name.starts_with("cls.") || name.starts_with("classifier."))
    return true;
  return name.consume_front(prefix) &&
         (name.starts_with("pooler.") || name == "embeddings.position_ids");
}

/// A tensor that the graph does not read makes another model, unless it belongs
/// to something beside the encoder.
static Error checkRest(const SafetensorsWeights &weights,
                       const SafetensorsTensors &tensors, StringRef prefix,
                       ModuleOp module) {
  SmallVector<StringRef> beside;
  for (StringRef name : weights.getUndeclared()) {
    if (!isBesideTheEncoder(name, prefix))
      return tensorError(tensors, name,
                         "expects no such tensor in a \"bert\" model, since it "
                         "is not supported");
    beside.push_back(name);
  }
  if (!beside.empty())
    emitRemark(module.getLoc())
        << "unused tensors: " << llvm::join(beside, ", ");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Graph
//===----------------------------------------------------------------------===//

void GraphBuilder::build(const SentencePooling &pooling) {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  auto tokensType =
      RankedTensorType::get({dynamic, dynamic}, builder.getI32Type());
  auto resultType =
      RankedTensorType::get({dynamic, config.modelSize}, builder.getF32Type());
  auto function =
      func::FuncOp::create(builder, at("embed"), "embed",
                           builder.getFunctionType({tokensType}, {resultType}));
  function.setArgAttr(0, "tfm.name", builder.getStringAttr("tokens"));
  function.setResultAttr(0, "tfm.name", builder.getStringAttr("embedding"));
  builder.setInsertionPointToStart(function.addEntryBlock());

  Value rows = embeddings(function.getArgument(0));
  for (int64_t layer = 0; layer != config.layers; ++layer) {
    std::string name = layerName(layer), output = name + "attention.output.";
    Value attended = attention(name + "attention.", rows);
    rows = AddOp::create(builder, at(output + "dense"), attended, rows);
    rows = norm(output + "LayerNorm", rows);
    Value hidden = linear(name + "intermediate.dense", rows);
    hidden = ActivationOp::create(builder, at(name + "intermediate"),
                                  config.activation, hidden);
    hidden = linear(name + "output.dense", hidden);
    rows = AddOp::create(builder, at(name + "output.dense"), hidden, rows);
    rows = norm(name + "output.LayerNorm", rows);
  }
  Value result = PoolOp::create(builder, at("pooling"), pooling.kind, rows);
  if (pooling.normalizes)
    result = L2NormalizeOp::create(builder, at("normalize"), result,
                                   llvm::APFloat(1e-12f));
  func::ReturnOp::create(builder, at("embed"), result);
}

Value GraphBuilder::embeddings(Value tokens) {
  auto load = [&](StringRef name) {
    return weights.load(builder, prefix + name.str());
  };
  Location loc = at("embeddings");
  Value words =
      EmbedOp::create(builder, at("embeddings.word_embeddings"), tokens,
                      load("embeddings.word_embeddings.weight"));
  Value positions = EmbedPositionsOp::create(
      builder, at("embeddings.position_embeddings"), tokens,
      load("embeddings.position_embeddings.weight"), /*offsets=*/Value(),
      /*start=*/0);
  words = AddVectorOp::create(builder, loc, words, load(kTokenType));
  Value rows = AddOp::create(builder, loc, words, positions);
  return norm("embeddings.LayerNorm", rows);
}

Value GraphBuilder::attention(const std::string &layer, Value input) {
  Value query = projectHeads(layer + "self.query", input);
  Value key = projectHeads(layer + "self.key", input);
  Value value = projectHeads(layer + "self.value", input);
  Location loc = at(layer + "self");
  int64_t headSize = config.modelSize / config.heads;
  float scale = 1.0 / std::sqrt(static_cast<double>(headSize));
  Value scores = ScoresOp::create(builder, loc, query, key);
  scores = ScaleOp::create(builder, loc, scores, llvm::APFloat(scale));
  Value probabilities = SoftmaxOp::create(builder, loc, scores);
  Value mixed = MixOp::create(builder, loc, probabilities, value);
  return linear(layer + "output.dense",
                MergeHeadsOp::create(builder, loc, mixed));
}

Value GraphBuilder::norm(const std::string &name, Value input) {
  return LayerNormOp::create(builder, at(name), input,
                             weights.load(builder, prefix + name + ".weight"),
                             weights.load(builder, prefix + name + ".bias"),
                             llvm::APFloat(static_cast<float>(config.epsilon)));
}

Value GraphBuilder::linear(const std::string &name, Value input) {
  return LinearOp::create(builder, at(name), input,
                          weights.load(builder, prefix + name + ".weight"),
                          weights.load(builder, prefix + name + ".bias"));
}

Value GraphBuilder::projectHeads(const std::string &name, Value input) {
  return SplitHeadsOp::create(builder, at(name), linear(name, input),
                              config.heads);
}

Error mlir::tfm::importBert(JsonFile &file, const SafetensorsTensors &tensors,
                            const SentencePooling &pooling, ModuleOp module) {
  Config config;
  if (Error error = readConfig(file, config))
    return error;
  SafetensorsWeights weights(tensors, module);
  // Models with a head for some task keep their encoder in a module.
  std::string prefix = "bert.";
  if (!weights.has(prefix + "embeddings.word_embeddings.weight"))
    prefix.clear();
  if (Error error = declareWeights(config, prefix, weights))
    return error;
  if (Error error = checkRest(weights, tensors, prefix, module))
    return error;
  GraphBuilder(config, prefix, weights, module).build(pooling);
  return Error::success();
}
