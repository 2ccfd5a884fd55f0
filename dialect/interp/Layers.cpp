//===- Layers.cpp - Embedding, norm and feed-forward network --------------===//

#include "dialect/Shapes.h"
#include "dialect/interp/Frame.h"
#include "dialect/interp/Sums.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mlir::tfm;

//===----------------------------------------------------------------------===//
// Tokens and positions
//===----------------------------------------------------------------------===//

LogicalResult Frame::run(EmbedOp op) {
  const Array tokens = array(op.getTokens()), table = array(op.getTable());
  int64_t vocabulary = table.shape[0], size = table.lastDim();
  SmallVector<int64_t> shape(tokens.shape);
  shape.push_back(size);
  FailureOr<Array> result = create(op.getResult(), shape);
  if (failed(result))
    return failure();
  for (auto [i, token] : llvm::enumerate(tokens.as<int32_t>())) {
    if (token < 0 || token >= vocabulary)
      return op.emitOpError() << "expects tokens in 0.." << vocabulary - 1
                              << ", but got " << token;
    table.decodeRow(token, result->floats().slice(i * size, size));
  }
  return success();
}

LogicalResult Frame::run(EmbedPositionsOp op) {
  const Array tokens = array(op.getTokens()), table = array(op.getTable());
  int64_t positions = table.shape[0], size = table.lastDim();
  int64_t batch = tokens.shape[0], length = tokens.shape[1];
  MutableArrayRef<int32_t> offsets;
  if (op.getOffsets()) {
    offsets = array(op.getOffsets()).as<int32_t>();
    if (failed(verifyEqualDims(op, "tokens and offsets", "batch B", batch,
                               offsets.size())))
      return failure();
  }
  FailureOr<Array> result = create(op.getResult(), {batch, length, size});
  if (failed(result))
    return failure();
  for (int64_t row = 0; row != batch * length; ++row) {
    int64_t offset = offsets.empty() ? 0 : offsets[row / length];
    int64_t position = op.getStart() + offset + row % length;
    if (position < 0 || position >= positions)
      return op.emitOpError() << "expects positions in 0.." << positions - 1
                              << ", but got " << position;
    table.decodeRow(position, result->floats().slice(row * size, size));
  }
  return success();
}

LogicalResult Frame::run(RopeOp op) {
  const Array input = array(op.getInput());
  int64_t headSize = input.lastDim(), dims = op.getDims();
  if (dims > headSize)
    return op.emitOpError()
           << "expects at most D = " << headSize << " dims, but got " << dims;
  MutableArrayRef<int32_t> offsets;
  if (op.getOffsets()) {
    offsets = array(op.getOffsets()).as<int32_t>();
    if (failed(verifyEqualDims(op, "input and offsets", "batch B",
                               input.shape[0], offsets.size())))
      return failure();
  }
  FailureOr<Array> result = create(op.getResult(), input.shape);
  if (failed(result))
    return failure();
  result->copyFrom(input);

  bool isInterleaved = op.getStyle() == RopeStyle::Interleaved;
  double theta = op.getTheta().convertToDouble();
  int64_t length = input.shape[2], rowsPerSample = input.shape[1] * length;
  for (int64_t row = 0, rows = input.rows(); row != rows; ++row) {
    int64_t position = row % length;
    if (!offsets.empty())
      position += offsets[row / rowsPerSample];
    auto x = result->floats().slice(row * headSize, headSize);
    for (int64_t i = 0; i != dims / 2; ++i) {
      double angle = position * std::pow(theta, -2.0 * i / dims);
      float &first = x[isInterleaved ? 2 * i : i];
      float &second = x[isInterleaved ? 2 * i + 1 : i + dims / 2];
      double a = first, b = second;
      first = a * std::cos(angle) - b * std::sin(angle);
      second = a * std::sin(angle) + b * std::cos(angle);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Norm
//===----------------------------------------------------------------------===//

/// A vector as f32, which is to have as many elements as a row.
FailureOr<std::vector<float>> Frame::vectorOf(Operation *op, Value vector,
                                              int64_t size) {
  const Array stored = array(vector);
  if (failed(verifyEqualDims(op, "a row and a vector", "size", size,
                             stored.lastDim())))
    return failure();
  std::vector<float> elements(size);
  stored.decodeRow(0, elements);
  return elements;
}

LogicalResult Frame::run(LayerNormOp op) {
  const Array input = array(op.getInput());
  int64_t size = input.lastDim();
  FailureOr<std::vector<float>> gain = vectorOf(op, op.getGain(), size);
  FailureOr<std::vector<float>> bias = std::vector<float>(size);
  if (op.getBias())
    bias = vectorOf(op, op.getBias(), size);
  FailureOr<Array> result = create(op.getResult(), input.shape);
  if (failed(gain) || failed(bias) || failed(result))
    return failure();
  double epsilon = op.getEpsilon().convertToFloat();
  for (int64_t row = 0, rows = input.rows(); row != rows; ++row) {
    auto x = input.floats().slice(row * size, size);
    auto y = result->floats().slice(row * size, size);
    double sum = 0, squares = 0;
    for (double element : x)
      sum += element;
    double mean = sum / size;
    for (double element : x)
      squares += (element - mean) * (element - mean);
    double scale = 1 / std::sqrt(squares / size + epsilon);
    for (int64_t e = 0; e != size; ++e)
      y[e] = (x[e] - mean) * scale * (*gain)[e] + (*bias)[e];
  }
  return success();
}

LogicalResult Frame::run(L2NormalizeOp op) {
  const Array input = array(op.getInput());
  int64_t size = input.lastDim();
  FailureOr<Array> result = create(op.getResult(), input.shape);
  if (failed(result))
    return failure();
  double epsilon = op.getEpsilon().convertToFloat();
  for (int64_t row = 0, rows = input.rows(); row != rows; ++row) {
    auto x = input.floats().slice(row * size, size);
    auto y = result->floats().slice(row * size, size);
    double scale = 1 / std::max(std::sqrt(dot(x, x)), epsilon);
    for (int64_t e = 0; e != size; ++e)
      y[e] = x[e] * scale;
  }
  return success();
}

LogicalResult Frame::run(PoolOp op) {
  const Array input = array(op.getInput());
  int64_t batch = input.shape[0], length = input.shape[1],
          size = input.shape[2];
  if (length == 0)
    return op.emitOpError("expects at least one row to pool, but got none");
  FailureOr<Array> result = create(op.getResult(), {batch, size});
  if (failed(result))
    return failure();
  int64_t count = op.getKind() == PoolKind::First ? 1 : length;
  for (int64_t b = 0; b != batch; ++b)
    for (int64_t e = 0; e != size; ++e) {
      double sum = 0;
      for (int64_t s = 0; s != count; ++s)
        sum += input.floats()[(b * length + s) * size + e];
      result->floats()[b * size + e] = sum / count;
    }
  return success();
}

LogicalResult Frame::run(RmsNormOp op) {
  const Array input = array(op.getInput());
  int64_t size = input.lastDim();
  FailureOr<std::vector<float>> gain = vectorOf(op, op.getGain(), size);
  FailureOr<Array> result = create(op.getResult(), input.shape);
  if (failed(gain) || failed(result))
    return failure();
  double epsilon = op.getEpsilon().convertToFloat();
  for (int64_t row = 0, rows = input.rows(); row != rows; ++row) {
    auto x = input.floats().slice(row * size, size);
    auto y = result->floats().slice(row * size, size);
    double scale = 1 / std::sqrt(dot(x, x) / size + epsilon);
    for (int64_t e = 0; e != size; ++e)
      y[e] = x[e] * scale * (*gain)[e];
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Linear maps and the feed-forward network
//===----------------------------------------------------------------------===//

/// result[r, n] = input[r] · weight[n] + bias[n]; the bias may be empty.
static void computeLinear(const Array &input, const Array &weight,
                          ArrayRef<float> bias, const Array &result) {
  int64_t outputs = weight.shape[0], size = weight.shape[1];
  std::vector<float> row(size);
  for (int64_t n = 0; n != outputs; ++n) {
    weight.decodeRow(n, row);
    for (int64_t r = 0, rows = input.rows(); r != rows; ++r) {
      double sum = dot(input.floats().slice(r * size, size), row);
      result.floats()[r * outputs + n] = bias.empty() ? sum : sum + bias[n];
    }
  }
}

static double activate(ActivationKind kind, double x) {
  switch (kind) {
  case ActivationKind::Relu:
    return std::max(x, 0.0);
  case ActivationKind::Gelu:
    return x / 2 * (1 + std::erf(x / std::numbers::sqrt2));
  case ActivationKind::GeluTanh:
    return x / 2 *
           (1 + std::tanh(std::sqrt(2 / std::numbers::pi) *
                          (x + 0.044715 * x * x * x)));
  case ActivationKind::Silu:
    return x / (1 + std::exp(-x));
  }
  llvm_unreachable("unknown activation");
}

static LogicalResult verifyEqualShapes(Operation *op, const Array &lhs,
                                       const Array &rhs) {
  if (lhs.shape == rhs.shape)
    return success();
  return op->emitOpError() << "expects operands of equal shape, but got ["
                           << ArrayRef(lhs.shape) << "] and ["
                           << ArrayRef(rhs.shape) << "]";
}

/// The shape of `input` with another innermost dimension.
static SmallVector<int64_t> shapeWithLast(const Array &input, int64_t dim) {
  SmallVector<int64_t> shape(input.shape);
  shape.back() = dim;
  return shape;
}

LogicalResult Frame::run(LinearOp op) {
  const Array input = array(op.getInput()), weight = array(op.getWeight());
  int64_t outputs = weight.shape[0];
  if (failed(verifyEqualDims(op, "input and weight", "inner size K",
                             input.lastDim(), weight.shape[1])))
    return failure();
  std::vector<float> bias;
  if (op.getBias()) {
    FailureOr<std::vector<float>> values = vectorOf(op, op.getBias(), outputs);
    if (failed(values))
      return failure();
    bias = *values;
  }
  FailureOr<Array> result =
      create(op.getResult(), shapeWithLast(input, outputs));
  if (failed(result))
    return failure();
  computeLinear(input, weight, bias, *result);
  return success();
}

LogicalResult Frame::run(ActivationOp op) {
  const Array input = array(op.getInput());
  FailureOr<Array> result = create(op.getResult(), input.shape);
  if (failed(result))
    return failure();
  for (auto [x, y] : llvm::zip_equal(input.floats(), result->floats()))
    y = activate(op.getKind(), x);
  return success();
}

LogicalResult Frame::run(AddOp op) {
  const Array lhs = array(op.getLhs()), rhs = array(op.getRhs());
  if (failed(verifyEqualShapes(op, lhs, rhs)))
    return failure();
  FailureOr<Array> result = create(op.getResult(), lhs.shape);
  if (failed(result))
    return failure();
  for (auto [x, y, z] :
       llvm::zip_equal(lhs.floats(), rhs.floats(), result->floats()))
    z = x + y;
  return success();
}

LogicalResult Frame::run(MulOp op) {
  const Array lhs = array(op.getLhs()), rhs = array(op.getRhs());
  if (failed(verifyEqualShapes(op, lhs, rhs)))
    return failure();
  FailureOr<Array> result = create(op.getResult(), lhs.shape);
  if (failed(result))
    return failure();
  for (auto [x, y, z] :
       llvm::zip_equal(lhs.floats(), rhs.floats(), result->floats()))
    z = x * y;
  return success();
}

LogicalResult Frame::run(AddVectorOp op) {
  const Array input = array(op.getInput());
  int64_t size = input.lastDim();
  FailureOr<std::vector<float>> vector = vectorOf(op, op.getVector(), size);
  FailureOr<Array> result = create(op.getResult(), input.shape);
  if (failed(vector) || failed(result))
    return failure();
  for (auto [i, x] : llvm::enumerate(input.floats()))
    result->floats()[i] = x + (*vector)[i % size];
  return success();
}

LogicalResult Frame::run(FfnOp op) {
  const Array input = array(op.getInput()), up = array(op.getUp()),
              down = array(op.getDown());
  int64_t size = input.lastDim(), hidden = up.shape[0];
  if (failed(verifyEqualDims(op, "input and up", "model size E", size,
                             up.shape[1])) ||
      failed(verifyEqualDims(op, "up and down", "feed-forward size F", hidden,
                             down.shape[1])))
    return failure();
  if (op.getGate() && failed(verifyEqualShapes(op, up, array(op.getGate()))))
    return failure();
  FailureOr<Array> inner = allocate(op, input.elementType,
                                    shapeWithLast(input, hidden)),
                   gate = allocate(op, input.elementType,
                                   shapeWithLast(input, hidden)),
                   result = create(op.getResult(),
                                   shapeWithLast(input, down.shape[0]));
  if (failed(inner) || failed(gate) || failed(result))
    return failure();

  std::vector<float> upBias, downBias, gateBias;
  for (auto [bias, value, outputs] :
       {std::tuple(&upBias, op.getUpBias(), hidden),
        std::tuple(&gateBias, op.getGateBias(), hidden),
        std::tuple(&downBias, op.getDownBias(), down.shape[0])}) {
    if (!value)
      continue;
    FailureOr<std::vector<float>> elements = vectorOf(op, value, outputs);
    if (failed(elements))
      return failure();
    *bias = *elements;
  }

  computeLinear(input, up, upBias, *inner);
  if (op.getGate())
    computeLinear(input, array(op.getGate()), gateBias, *gate);
  // Rounded where `activation` rounds, so that `expand` gives the same bits.
  for (auto [x, g] : llvm::zip_equal(inner->floats(), gate->floats())) {
    float activated = activate(op.getKind(), op.getGate() ? g : x);
    x = op.getGate() ? activated * x : activated;
  }
  computeLinear(*inner, down, downBias, *result);
  return success();
}
