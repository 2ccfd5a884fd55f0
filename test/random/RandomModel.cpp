//===- RandomModel.cpp - Small random decoders ----------------------------===//

#include "test/random/RandomModel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "test/random/Spellings.h"

using namespace mlir;
using namespace mlir::tfm;

namespace {
/// Builds `@forward`.
class ModelBuilder {
public:
  ModelBuilder(RandomModel &model, Random &random)
      : model(model), shape(model.shape), random(random),
        builder(OpBuilder::atBlockEnd(model.module->getBody())) {}

  void build();

private:
  void chooseKinds();
  Value attention(Value rows);
  Value network(Value rows);
  Value heads(Value rows, int64_t count, int64_t size, bool isTurned);

  Value linear(Value rows, int64_t outputs);
  Value norm(Value rows) {
    int64_t size = cast<RankedTensorType>(rows.getType()).getShape().back();
    Value gain = model.weights->gain(builder, size);
    if (!isLayerNorm)
      return RmsNormOp::create(builder, loc, rows, gain,
                               llvm::APFloat(epsilon));
    Value bias = hasBias ? model.weights->bias(builder, size) : Value();
    return LayerNormOp::create(builder, loc, rows, gain, bias,
                               llvm::APFloat(epsilon));
  }
  Value add(Value lhs, Value rhs) {
    return AddOp::create(builder, loc, lhs, rhs);
  }

  RandomModel &model;
  const ModelShape &shape;
  Random &random;
  OpBuilder builder;
  Location loc = builder.getUnknownLoc();
  Value causalMask, windowMask;

  // What is the same in all layers.
  bool hasRope, hasBias, hasWindow, isLayerNorm, isPreNorm, isGated, isSiluLast;
  RopeStyle style;
  int64_t ropeDims;
  double theta;
  float epsilon;
  ActivationKind activation;
  Spelling spelling;
};
} // namespace

static ModelShape chooseShape(Random &random) {
  ModelShape shape;
  shape.layers = random.integer(1, 3);
  shape.groups = random.integer(1, 3);
  shape.heads = shape.groups * random.integer(1, 3);
  shape.keySize = random.of<int64_t>({2, 6, 8, 16, 20, 32, 40, 64, 80, 96});
  shape.valueSize = random.chance(70)
                        ? shape.keySize
                        : random.of<int64_t>({1, 3, 8, 20, 32, 40, 80});
  shape.modelSize = random.of<int64_t>({8, 20, 32, 64, 64, 96});
  shape.forwardSize = random.of<int64_t>({5, 20, 32, 64, 96, 128});
  shape.vocabulary = random.of<int64_t>({2, 17, 32, 40, 65});
  return shape;
}

void ModelBuilder::chooseKinds() {
  hasRope = random.chance(70);
  hasBias = random.chance(20);
  hasWindow = random.chance(30);
  isLayerNorm = random.chance(40);
  isPreNorm = random.chance(80);
  isGated = random.chance(70);
  isSiluLast = random.chance(30);
  style = random.of({RopeStyle::Interleaved, RopeStyle::Half});
  ropeDims = random.chance(60) ? shape.keySize
                               : 2 * random.integer(1, shape.keySize / 2);
  theta = random.of({10000.0, 500000.0, 100.0});
  epsilon = random.of({1e-5f, 1e-6f, 1e-2f});
  activation = random.of({ActivationKind::Silu, ActivationKind::Gelu,
                          ActivationKind::GeluTanh, ActivationKind::Relu});
  spelling = chooseSpelling(random);
}

void ModelBuilder::build() {
  chooseKinds();
  constexpr int64_t dynamic = ShapedType::kDynamic;
  auto tokensType =
      RankedTensorType::get({dynamic, dynamic}, builder.getI32Type());
  auto logitsType = RankedTensorType::get({dynamic, dynamic, shape.vocabulary},
                                          builder.getF32Type());
  auto function =
      func::FuncOp::create(builder, loc, "forward",
                           builder.getFunctionType({tokensType}, {logitsType}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  Value tokens = function.getArgument(0);
  Value length = tensor::DimOp::create(builder, loc, tokens, 1);
  causalMask = makeCausalMask(builder, length, length, random);
  if (hasWindow)
    windowMask = makeWindowMask(builder, length, length, random);

  Value table =
      model.weights->matrix(builder, shape.vocabulary, shape.modelSize);
  Value rows = EmbedOp::create(builder, loc, tokens, table);
  if (!hasRope) {
    constexpr int64_t start = 2, positions = start + kLongestText;
    rows = add(rows,
               EmbedPositionsOp::create(
                   builder, loc, tokens,
                   model.weights->matrix(builder, positions, shape.modelSize),
                   /*offsets=*/Value(), start));
  }
  for (int64_t layer = 0; layer != shape.layers; ++layer)
    for (auto block : {&ModelBuilder::attention, &ModelBuilder::network})
      rows = isPreNorm ? add(rows, (this->*block)(norm(rows)))
                       : norm(add((this->*block)(rows), rows));
  rows = norm(rows);
  Value logits = random.chance(50)
                     ? LinearOp::create(builder, loc, rows, table, Value())
                     : linear(rows, shape.vocabulary);
  func::ReturnOp::create(builder, loc, logits);
}

Value ModelBuilder::linear(Value rows, int64_t outputs) {
  int64_t size = cast<RankedTensorType>(rows.getType()).getShape().back();
  Value weight = model.weights->matrix(builder, outputs, size);
  Value bias = hasBias && random.chance(70)
                   ? model.weights->bias(builder, outputs)
                   : Value();
  return LinearOp::create(builder, loc, rows, weight, bias);
}

Value ModelBuilder::heads(Value rows, int64_t count, int64_t size,
                          bool isTurned) {
  Value split =
      SplitHeadsOp::create(builder, loc, linear(rows, count * size), count);
  if (!isTurned)
    return split;
  return RopeOp::create(builder, loc, split, /*offsets=*/Value(), style,
                        ropeDims, llvm::APFloat(theta));
}

Value ModelBuilder::attention(Value rows) {
  AttentionOperands operands;
  operands.query = heads(rows, shape.heads, shape.keySize, hasRope);
  operands.key = heads(rows, shape.groups, shape.keySize, hasRope);
  operands.value = heads(rows, shape.groups, shape.valueSize, false);
  operands.masks = {causalMask};
  if (hasWindow && random.chance(70))
    operands.masks.push_back(windowMask);
  operands.scale = 1 / std::sqrt(static_cast<float>(shape.keySize));
  Value mixed = spellAttention(builder, operands, spelling);
  return linear(MergeHeadsOp::create(builder, loc, mixed), shape.modelSize);
}

Value ModelBuilder::network(Value rows) {
  Value hidden = ActivationOp::create(builder, loc, activation,
                                      linear(rows, shape.forwardSize));
  if (isGated) {
    Value up = linear(rows, shape.forwardSize);
    hidden = isSiluLast ? MulOp::create(builder, loc, up, hidden)
                        : MulOp::create(builder, loc, hidden, up);
  }
  return linear(hidden, shape.modelSize);
}

RandomModel tfm::makeModel(MLIRContext *context, Random &random) {
  RandomModel model;
  model.module = ModuleOp::create(UnknownLoc::get(context));
  model.shape = chooseShape(random);
  model.weights = std::make_unique<Weights>(*model.module, random);
  ModelBuilder(model, random).build();
  return model;
}
