//===- KernelBounds.cpp - How far machine code may be off -----------------===//

#include "test/random/KernelBounds.h"

#include "dialect/interp/Blocks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "test/random/Compare.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace mlir::tfm;

namespace {
class Analysis {
public:
  Analysis(LaunchOp launch, ArrayRef<RuntimeValue> arguments,
           Interpreter &interpreter)
      : launch(launch), arguments(arguments), interpreter(interpreter),
        kernel(interpreter.lookup<KernelOp>(launch, launch.getKernelAttr())) {}

  std::optional<SmallVector<Bound>> run();

private:
  bool visit(Operation *op);
  void setLinear(Value result, const Bound &input, double size,
                 const MatrixNorms &weight, double blockError);
  Bound attend(const Bound &query, const Bound &key, const Bound &value,
               double size, double scale, const Bound &bias, double keys);

  const RuntimeValue &argument(Value value) {
    return arguments[cast<BlockArgument>(value).getArgNumber()];
  }
  bool isArgument(Value value) { return isa<BlockArgument>(value); }
  double lastDim(Value value) {
    return cast<RankedTensorType>(value.getType()).getShape().back();
  }
  MatrixNorms getNorms(Value matrix);
  /// The largest length of any argument, an upper bound of S and T.
  double getLength();

  LaunchOp launch;
  ArrayRef<RuntimeValue> arguments;
  Interpreter &interpreter;
  KernelOp kernel;
  DenseMap<Value, Bound> bounds;
};
} // namespace

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static double largestOf(ArrayRef<float> elements) {
  double largest = 0;
  for (float x : elements)
    if (!std::isinf(x))
      largest = std::max<double>(largest, std::abs(x));
  return largest;
}

/// A matrix that is an argument, or unpacked from some: then the launch's
/// operand says which weight it is.
MatrixNorms Analysis::getNorms(Value matrix) {
  Array array;
  if (auto unpack = matrix.getDefiningOp<UnpackOp>()) {
    unsigned index =
        cast<BlockArgument>(unpack.getParts().front()).getArgNumber();
    auto load = launch.getInputs()[index].getDefiningOp<LoadOp>();
    auto part = interpreter.lookup<WeightOp>(load, load.getWeightAttr());
    auto packed = cast<PackedAttr>(part.getSource());
    array = *interpreter.load(
        interpreter.lookup<WeightOp>(part, packed.getWeight()));
  } else {
    array = std::get<Array>(argument(matrix));
  }
  MatrixNorms norms;
  auto block = dyn_cast<BlockType>(array.elementType);
  std::vector<float> row(array.lastDim());
  for (int64_t r = 0; r != array.rows(); ++r) {
    array.decodeRow(r, row);
    double sum = 0, parts = 0;
    for (float x : row)
      sum += std::abs(x);
    int64_t blocks = block ? row.size() / kBlock : 0;
    for (int64_t b = 0; b != blocks; ++b) {
      Block32 stored = readBlock(block, array, r * blocks + b);
      double integer = block.getFormat() == BlockFormat::Q8_0 ? 128 : 15;
      double constant = block.getFormat() == BlockFormat::Q4_0
                            ? 8 * std::abs(stored.scale)
                            : std::abs(stored.min);
      parts += kBlock * (integer * std::abs(stored.scale) + constant);
    }
    norms.element = std::max(norms.element, largestOf(row));
    norms.rowSum = std::max(norms.rowSum, sum);
    norms.partSum = std::max(norms.partSum, parts);
  }
  return norms;
}

/// By how much the elements of a row exceed its deviation from the mean.
static double largestOverDeviation(const Array &array, double epsilon) {
  Array rows = array.toRowMajor();
  double size = rows.lastDim(), largest = 0;
  for (int64_t row = 0; row != rows.rows(); ++row) {
    auto x = rows.floats().slice(row * rows.lastDim(), rows.lastDim());
    double sum = 0, squares = 0;
    for (double element : x)
      sum += element;
    for (double element : x)
      squares += (element - sum / size) * (element - sum / size);
    largest =
        std::max(largest, largestOf(x) / std::sqrt(squares / size + epsilon));
  }
  return largest;
}

double Analysis::getLength() {
  int64_t length = 1;
  for (const RuntimeValue &argument : arguments) {
    if (auto *array = std::get_if<Array>(&argument))
      for (int64_t dim : array->shape)
        length = std::max(length, dim);
    if (auto *cache = std::get_if<std::shared_ptr<Cache>>(&argument))
      length = std::max(length, (*cache)->context);
  }
  return length;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// f32 functions are within this many units, see EmitElementwise.cpp: the
/// approximations of exp, erf and tanh, and the operations around them.
static constexpr double kFunctionUnits = 16;

void Analysis::setLinear(Value result, const Bound &input, double size,
                         const MatrixNorms &weight, double blockError) {
  double sum = input.largest * weight.rowSum;
  bounds[result] = {sum, input.error * weight.rowSum +
                             (size + 3 + blockError) * kUnit * sum};
}

/// Scores within ε make probabilities within a factor of exp(2ε), and these,
/// which add up to 1, a mix of values within that part of the largest.
Bound Analysis::attend(const Bound &query, const Bound &key, const Bound &value,
                       double size, double scale, const Bound &bias,
                       double keys) {
  double products = std::abs(scale) * size * query.largest * key.largest;
  double error = std::abs(scale) * size *
                     (query.error * key.largest + key.error * query.largest +
                      query.error * key.error) +
                 (size + 3) * kUnit * products + bias.error +
                 // The bias is added, and the largest score subtracted.
                 3 * kUnit * (products + bias.largest);
  double ofProbability =
      std::expm1(2 * error) + (keys + kFunctionUnits) * kUnit;
  return {value.largest,
          value.error + (ofProbability + (keys + 3) * kUnit) * value.largest};
}

bool Analysis::visit(Operation *op) {
  auto of = [&](Value value) { return value ? bounds.lookup(value) : Bound(); };
  auto pass = [&](const Bound &bound) {
    bounds[op->getResult(0)] = bound;
    return true;
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<UnpackOp, CausalMaskOp, WindowMaskOp, PaddingMaskOp, MaskAndOp,
            MaskNotOp, YieldOp>([](auto) { return true; })
      .Case<EmbedOp, EmbedPositionsOp>([&](auto op) {
        double largest = getNorms(op.getTable()).element;
        return pass({largest, 2 * kUnit * largest});
      })
      .Case([&](LinearOp op) {
        MatrixNorms norms = getNorms(op.getWeight());
        bool isBlocked =
            isa<BlockType>(getElementTypeOrSelf(op.getWeight().getType()));
        setLinear(op.getResult(), of(op.getInput()), lastDim(op.getInput()),
                  norms, isBlocked ? 2 : 0);
        Bound &result = bounds[op.getResult()];
        Bound bias = of(op.getBias());
        result.largest += bias.largest;
        result.error += kUnit * result.largest;
        return true;
      })
      .Case([&](QuantizedLinearOp op) {
        // Sums inside of blocks are exact; two terms per block.
        double blocks = lastDim(op.getScales());
        double sum =
            127 * of(op.getScales()).largest * getNorms(op.getWeight()).partSum;
        return pass({sum, (2 * blocks + 5) * kUnit * sum});
      })
      .Case([&](QuantizeOp op) {
        Bound input = of(op.getInput());
        bounds[op.getQuants()] = {127, input.error > 0 ? 1.0 : 0.0};
        double scale = input.largest / 127;
        bounds[op.getScales()] = {
            scale, input.error / 127 + (input.error > 0 ? kUnit * scale : 0)};
        bounds[op.getSums()] = {32 * input.largest,
                                input.error > 0 ? kBlock * scale : 0};
        return true;
      })
      .Case([&](RmsNormOp op) {
        if (of(op.getInput()).error != 0)
          return false;
        double size = lastDim(op.getInput());
        double largest = std::sqrt(size) * of(op.getGain()).largest;
        return pass({largest, (size / 2 + 10) * kUnit * largest});
      })
      .Case([&](LayerNormOp op) {
        if (!isArgument(op.getInput()))
          return false;
        double size = lastDim(op.getInput());
        double gain = of(op.getGain()).largest;
        double largest = std::sqrt(size) * gain + of(op.getBias()).largest;
        // The mean may cancel most of an element.
        double cancelled =
            largestOverDeviation(std::get<Array>(argument(op.getInput())),
                                 op.getEpsilon().convertToFloat());
        return pass(
            {largest, (size + 10) * kUnit * (largest + cancelled * gain)});
      })
      .Case([&](L2NormalizeOp op) {
        if (!isArgument(op.getInput()))
          return false;
        return pass({1, (lastDim(op.getInput()) / 2 + 10) * kUnit});
      })
      .Case([&](PoolOp op) {
        Bound x = of(op.getInput());
        return pass(
            {x.largest, x.error + (getLength() + 2) * kUnit * x.largest});
      })
      .Case<AddOp, AddBiasOp, AddVectorOp>([&](auto op) {
        Bound x = of(op->getOperand(0)), y = of(op->getOperand(1));
        double largest = x.largest + y.largest;
        return pass({largest, x.error + y.error + kUnit * largest});
      })
      .Case([&](MulOp op) {
        Bound x = of(op.getLhs()), y = of(op.getRhs());
        double largest = x.largest * y.largest;
        return pass({largest, x.error * y.largest + y.error * x.largest +
                                  x.error * y.error + kUnit * largest});
      })
      .Case([&](ScaleOp op) {
        double factor = std::abs(op.getFactor().convertToFloat());
        Bound x = of(op.getInput());
        return pass({factor * x.largest,
                     factor * x.error + kUnit * factor * x.largest});
      })
      .Case([&](ActivationOp op) {
        // No slope is above 1.13, that of gelu.
        Bound x = of(op.getInput());
        return pass(
            {x.largest, 1.13 * x.error + kFunctionUnits * kUnit * x.largest});
      })
      .Case<SplitHeadsOp, MergeHeadsOp, RepeatHeadsOp, TransposeOp, ApplyMaskOp,
            DropoutOp>([&](auto op) { return pass(of(op->getOperand(0))); })
      .Case([&](RopeOp op) {
        // Frequency, angle, and the reduction of the angle are rounded.
        double position = getLength() + of(op.getOffsets()).largest;
        Bound x = of(op.getInput());
        double largest = std::sqrt(2.0) * x.largest;
        return pass({largest, std::sqrt(2.0) * x.error +
                                  (2 * position + 8) * kUnit * largest});
      })
      .Case([&](ScoresOp op) {
        Bound x = of(op.getQuery()), y = of(op.getKey());
        double size = lastDim(op.getQuery());
        double sum = size * x.largest * y.largest;
        return pass({sum, size * (x.error * y.largest + y.error * x.largest +
                                  x.error * y.error) +
                              (size + 1) * kUnit * sum});
      })
      .Case([&](SoftmaxOp op) {
        Bound x = of(op.getInput());
        return pass({1, std::expm1(2 * (x.error + 2 * kUnit * x.largest)) +
                            (getLength() + kFunctionUnits) * kUnit});
      })
      .Case([&](MixOp op) {
        Bound p = of(op.getProbabilities()), v = of(op.getValue());
        return pass(
            {v.largest,
             v.error + (p.error + (getLength() + 2) * kUnit) * v.largest});
      })
      .Case([&](AttentionOp op) {
        return pass(attend(of(op.getQuery()), of(op.getKey()),
                           of(op.getValue()), lastDim(op.getQuery()),
                           op.getScale().convertToFloat(), of(op.getBias()),
                           getLength()));
      })
      .Case([&](CacheAttentionOp op) {
        Cache &cache =
            *std::get<std::shared_ptr<Cache>>(argument(op.getCache()));
        return pass(attend(of(op.getQuery()), {largestOf(cache.keys), 0},
                           {largestOf(cache.values), 0}, lastDim(op.getQuery()),
                           op.getScale().convertToFloat(), Bound(),
                           cache.context));
      })
      .Case([&](CacheAppendOp op) {
        // Rounding to f16 may go the other way.
        Bound key = of(op.getKey()), value = of(op.getValue());
        double unit = op.getCache().getType().getElementType().isF16()
                          ? 2 * kHalfUnit
                          : 0;
        return pass(
            {0, std::max(key.error > 0 ? key.error + unit * key.largest : 0,
                         value.error > 0 ? value.error + unit * value.largest
                                         : 0)});
      })
      .Default([](Operation *) { return false; });
}

std::optional<SmallVector<Bound>> Analysis::run() {
  for (auto [value, content] :
       llvm::zip_equal(kernel.getBody().getArguments(), arguments)) {
    auto *array = std::get_if<Array>(&content);
    if (!array)
      continue;
    if (array->elementType.isF32())
      bounds[value] = {largestOf(array->toRowMajor().floats()), 0};
    else if (array->elementType.isInteger(32))
      for (int32_t x : array->toRowMajor().as<int32_t>())
        bounds[value].largest = std::max<double>(bounds[value].largest, x);
    else if (array->rank() == 1) {
      std::vector<float> row(array->lastDim());
      array->decodeRow(0, row);
      bounds[value] = {largestOf(row), 0};
    }
  }
  for (Operation &op : kernel.getBody().front())
    if (!visit(&op))
      return std::nullopt;
  return llvm::map_to_vector(kernel.getYield().getValues(),
                             [&](Value value) { return bounds.lookup(value); });
}

std::optional<SmallVector<Bound>>
tfm::boundResults(LaunchOp launch, ArrayRef<RuntimeValue> arguments,
                  Interpreter &interpreter) {
  return Analysis(launch, arguments, interpreter).run();
}
