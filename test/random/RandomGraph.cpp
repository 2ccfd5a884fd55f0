//===- RandomGraph.cpp - Small random graphs ------------------------------===//

#include "test/random/RandomGraph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "test/random/Compare.h"
#include "test/random/Spellings.h"
#include <cmath>

using namespace mlir;
using namespace mlir::tfm;

static constexpr int64_t kDynamic = ShapedType::kDynamic;

static int64_t chooseLength(Random &random) {
  return random.chance(50) ? random.integer(2, 20)
                           : random.of<int64_t>({0, 1, 7, 64, 65});
}

namespace {
/// A function under construction.
class GraphBuilder {
public:
  GraphBuilder(MLIRContext *context, Random &random)
      : random(random), builder(context) {
    graph.module = ModuleOp::create(loc());
    graph.weights = std::make_unique<Weights>(*graph.module, random);
    builder.setInsertionPointToStart(graph.module->getBody());
    function = func::FuncOp::create(builder, loc(), "forward",
                                    builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(function.addEntryBlock());
  }

  Location loc() { return builder.getUnknownLoc(); }

  /// An argument whose type knows the dimensions that `known` says.
  Value addArgument(const Array &content, ArrayRef<int64_t> known) {
    graph.arguments.push_back(content);
    return function.getBody().front().addArgument(
        RankedTensorType::get(known, content.elementType), loc());
  }

  Array makeFloats(ArrayRef<int64_t> shape, float largest) {
    Array array = Array::zeros(builder.getF32Type(), shape);
    for (float &x : array.floats())
      x = largest * random.number();
    return array;
  }

  RandomGraph finish(ValueRange results) {
    func::ReturnOp::create(builder, loc(), results);
    function.setType(builder.getFunctionType(
        function.getBody().front().getArgumentTypes(), TypeRange(results)));
    return std::move(graph);
  }

  RandomGraph graph;
  Random &random;
  OpBuilder builder;
  func::FuncOp function;
};
} // namespace

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// The largest norm of a row.
static double largestRow(const Array &array) {
  double largest = 0;
  for (int64_t row = 0, size = array.lastDim(); row != array.rows(); ++row) {
    double norm = 0;
    for (float x : array.floats().slice(row * size, size))
      norm = std::hypot(norm, x);
    largest = std::max(largest, norm);
  }
  return largest;
}

/// A shape that broadcasts over [B, H, S, T]: `extents` is what is there,
/// `type` what is known of it.
static void chooseBroadcast(ArrayRef<int64_t> scores, Random &random,
                            SmallVector<int64_t> &extents,
                            SmallVector<int64_t> &type) {
  for (auto [i, dim] : llvm::enumerate(scores)) {
    bool isOne = random.chance(35);
    extents.push_back(isOne ? 1 : dim);
    type.push_back(isOne ? 1 : i == 1 ? dim : kDynamic);
  }
}

static Array makeMask(Builder &builder, ArrayRef<int64_t> shape,
                      Random &random) {
  Array mask = Array::zeros(builder.getI1Type(), shape);
  for (int64_t row = 0, size = mask.lastDim(); row != mask.rows(); ++row) {
    int kept = random.of({0, 15, 60, 95, 100});
    for (uint8_t &keep : mask.as<uint8_t>().slice(row * size, size))
      keep = random.chance(kept);
  }
  return mask;
}

RandomGraph tfm::makeAttentionGraph(MLIRContext *context, Random &random) {
  GraphBuilder graph(context, random);
  OpBuilder &builder = graph.builder;
  int64_t batch = random.of<int64_t>({0, 1, 1, 2, 3}),
          groups = random.integer(1, 3), heads = groups * random.integer(1, 3),
          queries = chooseLength(random),
          keys = random.chance(40) ? queries : chooseLength(random),
          keySize = random.of<int64_t>({1, 4, 7, 20, 40, 64, 80, 96}),
          valueSize = random.chance(50)
                          ? keySize
                          : random.of<int64_t>({1, 5, 20, 64, 96});
  AttentionOperands operands;
  operands.scale = random.of({0.125f, 0.3f, 1.0f, 2.0f});
  Array query = graph.makeFloats({batch, heads, queries, keySize}, 2),
        key = graph.makeFloats({batch, groups, keys, keySize}, 2),
        value = graph.makeFloats({batch, groups, keys, valueSize}, 4);
  operands.query =
      graph.addArgument(query, {kDynamic, heads, kDynamic, keySize});
  operands.key = graph.addArgument(key, {kDynamic, groups, kDynamic, keySize});
  operands.value =
      graph.addArgument(value, {kDynamic, groups, kDynamic, valueSize});

  // Scores and biases, all of which a scale of the scores may double.
  double largest = operands.scale * largestRow(query) * largestRow(key);
  SmallVector<int64_t> scores = {batch, heads, queries, keys};
  Value queryLength =
      tensor::DimOp::create(builder, graph.loc(), operands.query, 2);
  Value keyLength =
      tensor::DimOp::create(builder, graph.loc(), operands.key, 2);
  for (int64_t i = random.integer(0, 3); i != 0; --i) {
    SmallVector<int64_t> extents, type;
    chooseBroadcast(scores, random, extents, type);
    switch (random.integer(0, 5)) {
    case 0:
      operands.masks.push_back(
          makeCausalMask(builder, queryLength, keyLength, random));
      break;
    case 1:
      operands.masks.push_back(
          makeOtherMask(builder, queryLength, keyLength, random));
      break;
    case 2:
      operands.masks.push_back(
          graph.addArgument(makeMask(builder, extents, random), type));
      break;
    case 3:
      operands.masks.push_back(
          makeWindowMask(builder, queryLength, keyLength, random));
      break;
    case 4: {
      Array lengths = Array::zeros(builder.getI32Type(), {batch});
      for (int32_t &length : lengths.as<int32_t>())
        length = random.integer(-1, keys + 1);
      operands.masks.push_back(PaddingMaskOp::create(
          builder, graph.loc(), graph.addArgument(lengths, {kDynamic}),
          keyLength));
      break;
    }
    case 5: {
      Array bias = graph.makeFloats(extents, 3);
      for (float &x : bias.floats())
        if (random.chance(10))
          x = -INFINITY;
      largest += 3;
      operands.masks.push_back(graph.addArgument(bias, type));
      break;
    }
    }
  }
  Value result = spellAttention(builder, operands, chooseSpelling(random));
  SmallVector<Value> results = {result};
  // Now and then, something inside is used elsewhere.
  if (random.chance(15)) {
    auto ops = llvm::to_vector(llvm::make_pointer_range(
        graph.function.getBody().front().without_terminator()));
    Operation *op = random.of(ArrayRef<Operation *>(ops));
    if (isa<TfmDialect>(op->getDialect()) &&
        getElementTypeOrSelf(op->getResult(0)).isF32())
      results.push_back(op->getResult(0));
  }

  largest *= std::max(1.0, 2.0 * operands.scale);
  double error = kScoreRoundings * kUnit * largest;
  graph.graph.fusionError = 4 * (std::expm1(2 * error) + 3 * kUnit);
  return graph.finish(results);
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

static int64_t sizeOf(Value rows) {
  return cast<RankedTensorType>(rows.getType()).getShape().back();
}

static Value makeLinear(GraphBuilder &graph, Value rows, int64_t outputs) {
  Value weight =
      graph.graph.weights->matrix(graph.builder, outputs, sizeOf(rows));
  Value bias = graph.random.chance(25)
                   ? graph.graph.weights->bias(graph.builder, outputs)
                   : Value();
  return LinearOp::create(graph.builder, graph.loc(), rows, weight, bias);
}

static Value makeNorm(GraphBuilder &graph, Value rows) {
  Value gain = graph.graph.weights->gain(graph.builder, sizeOf(rows));
  llvm::APFloat epsilon(1e-5f);
  if (graph.random.chance(50))
    return RmsNormOp::create(graph.builder, graph.loc(), rows, gain, epsilon);
  Value bias = graph.random.chance(50)
                   ? graph.graph.weights->bias(graph.builder, sizeOf(rows))
                   : Value();
  return LayerNormOp::create(graph.builder, graph.loc(), rows, gain, bias,
                             epsilon);
}

/// One row of each sample, if there is one.
static Value makePool(GraphBuilder &graph, Value rows) {
  if (std::get<Array>(graph.graph.arguments.front()).shape[1] == 0)
    return rows;
  Value row =
      PoolOp::create(graph.builder, graph.loc(),
                     graph.random.of({PoolKind::Mean, PoolKind::First}), rows);
  return L2NormalizeOp::create(graph.builder, graph.loc(), row,
                               llvm::APFloat(1e-12f));
}

static Value makeActivation(GraphBuilder &graph, Value rows) {
  return ActivationOp::create(
      graph.builder, graph.loc(),
      graph.random.of({ActivationKind::Relu, ActivationKind::Gelu,
                       ActivationKind::GeluTanh, ActivationKind::Silu}),
      rows);
}

static Value addRows(GraphBuilder &graph, int64_t size) {
  int64_t batch = graph.random.of<int64_t>({0, 1, 2, 3});
  int64_t length = chooseLength(graph.random);
  return graph.addArgument(graph.makeFloats({batch, length, size}, 2),
                           {kDynamic, kDynamic, size});
}

RandomGraph tfm::makeLayerGraph(MLIRContext *context, Random &random) {
  GraphBuilder graph(context, random);
  SmallVector<int64_t> sizes = {random.of<int64_t>({5, 20, 32, 64}),
                                random.of<int64_t>({32, 40, 96})};
  SmallVector<Value> values = {addRows(graph, sizes[0])};
  for (int64_t i = random.integer(1, 12); i != 0; --i) {
    Value rows = random.of(ArrayRef<Value>(values));
    // Another value of the same type, or the same one.
    SmallVector<Value> alike;
    for (Value value : values)
      if (sizeOf(value) == sizeOf(rows))
        alike.push_back(value);
    Value other = random.of(ArrayRef<Value>(alike));
    auto create = [&]() -> Value {
      switch (random.integer(0, 8)) {
      case 0:
        return makeNorm(graph, rows);
      case 1:
        return makeActivation(graph, rows);
      case 2:
        return AddOp::create(graph.builder, graph.loc(), rows, other);
      case 3:
        return MulOp::create(graph.builder, graph.loc(), rows, other);
      case 4:
        return AddVectorOp::create(
            graph.builder, graph.loc(), rows,
            graph.graph.weights->bias(graph.builder, sizeOf(rows)));
      case 5:
        return L2NormalizeOp::create(graph.builder, graph.loc(), rows,
                                     llvm::APFloat(1e-12f));
      case 6:
        return ScaleOp::create(graph.builder, graph.loc(), rows,
                               llvm::APFloat(random.of({-1.0f, 0.5f, 0.7f})));
      default:
        return makeLinear(graph, rows, random.of(ArrayRef<int64_t>(sizes)));
      }
    };
    values.push_back(create());
  }
  SmallVector<Value> results = {values.back()};
  while (random.chance(30) && results.size() < values.size() - 1)
    results.push_back(values[values.size() - 1 - results.size()]);
  if (random.chance(20))
    results.front() = makePool(graph, results.front());
  return graph.finish(results);
}

RandomGraph tfm::makeMapGraph(MLIRContext *context, Random &random) {
  GraphBuilder graph(context, random);
  Value rows =
      makeNorm(graph, addRows(graph, random.of<int64_t>({32, 64, 96, 256})));
  SmallVector<Value> results = {rows};
  for (int64_t i = random.integer(1, 4); i != 0; --i)
    results.push_back(
        makeLinear(graph, rows, random.of<int64_t>({1, 17, 32, 40, 96})));
  return graph.finish(results);
}
