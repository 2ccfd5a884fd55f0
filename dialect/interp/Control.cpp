//===- Control.cpp - Frames, calls, launches and arithmetic ---------------===//

#include "dialect/interp/Frame.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::tfm;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// True if `content` can be the run-time side of a value of `type`.
static bool isOfType(const RuntimeValue &content, Type type) {
  if (auto shaped = dyn_cast<ShapedType>(type)) {
    auto *array = std::get_if<Array>(&content);
    return array && shaped.hasRank() &&
           array->elementType == shaped.getElementType() &&
           succeeded(verifyCompatibleShape(array->shape, shaped.getShape()));
  }
  if (isa<KvCacheType>(type)) {
    auto *cache = std::get_if<std::shared_ptr<Cache>>(&content);
    return cache && (*cache)->type == type;
  }
  return type.isIntOrIndex() && std::holds_alternative<int64_t>(content);
}

static std::string describe(const RuntimeValue &content) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto *array = std::get_if<Array>(&content)) {
    for (int64_t dim : array->shape)
      os << dim << 'x';
    os << array->elementType;
  } else if (auto *cache = std::get_if<std::shared_ptr<Cache>>(&content)) {
    os << Type((*cache)->type);
  } else {
    os << "the integer " << std::get<int64_t>(content);
  }
  return text;
}

LogicalResult Frame::set(Operation *reporter, Value value,
                         RuntimeValue content) {
  if (!isOfType(content, value.getType()))
    return reporter->emitError()
           << "expects a value of type " << value.getType() << ", but got "
           << describe(content);
  values[value] = std::move(content);
  return success();
}

FailureOr<Array> Frame::allocate(Operation *op, Type elementType,
                                 ArrayRef<int64_t> shape) {
  if (countElements(shape))
    return Array::zeros(elementType, shape);
  return op->emitError() << "expects a shape that memory can hold, but got ["
                         << shape << "]";
}

FailureOr<Array> Frame::create(OpResult result, ArrayRef<int64_t> shape) {
  FailureOr<Array> array =
      allocate(result.getOwner(), getElementTypeOrSelf(result), shape);
  if (failed(array) || failed(set(result, *array)))
    return failure();
  return array;
}

SmallVector<int64_t> Frame::indices(ArrayRef<OpFoldResult> mixed) {
  return llvm::map_to_vector(mixed, [&](OpFoldResult value) {
    if (auto constant = getConstantIntValue(value))
      return *constant;
    return index(cast<Value>(value));
  });
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<RuntimeValue>> Frame::run(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(dispatch(&op)))
      return failure();
  Operation *terminator = block.getTerminator();
  if (!isa<func::ReturnOp, YieldOp, tensor::YieldOp>(terminator))
    return dispatch(terminator);
  return llvm::map_to_vector(terminator->getOperands(),
                             [&](Value value) { return content(value); });
}

LogicalResult Frame::dispatch(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<EmbedOp, EmbedPositionsOp, RopeOp, RmsNormOp, LayerNormOp,
            L2NormalizeOp, PoolOp, AddVectorOp, LinearOp, ActivationOp, AddOp,
            MulOp, FfnOp, CausalMaskOp, WindowMaskOp, PaddingMaskOp, MaskAndOp,
            MaskNotOp, DropoutOp, SplitHeadsOp, MergeHeadsOp, RepeatHeadsOp,
            TransposeOp, MatmulOp, ScoresOp, ScaleOp, AddBiasOp, ApplyMaskOp,
            SoftmaxOp, MixOp, AttentionOp, CacheCreateOp, CacheLengthsOp,
            CacheAppendOp, CacheAdvanceOp, CacheTruncateOp, CacheGatherOp,
            CacheAttentionOp, QuantizeOp, QuantizedLinearOp, LoadOp, UnpackOp,
            LaunchOp, func::CallOp, arith::ConstantOp, arith::CmpIOp,
            tensor::GenerateOp, tensor::EmptyOp, memref::ViewOp,
            memref::CopyOp>([&](auto op) { return run(op); })
      .Case<tensor::DimOp, memref::DimOp>(
          [&](auto op) { return runDim(op, op.getSource(), op.getIndex()); })
      .Case<tensor::CastOp, memref::CastOp>(
          [&](auto op) { return set(op.getResult(), content(op.getSource())); })
      .Case<tensor::ExpandShapeOp, memref::ExpandShapeOp>([&](auto op) {
        return runReshape(op, indices(op.getMixedOutputShape()));
      })
      .Case<tensor::CollapseShapeOp, memref::CollapseShapeOp>([&](auto op) {
        return runCollapse(op, op.getReassociationIndices());
      })
      .Case<tensor::ExtractSliceOp, memref::SubViewOp>(
          [&](auto op) { return runSlice(op, op.getDroppedDims()); })
      .Case([&](arith::AndIOp op) {
        return runArith(op, [](uint64_t a, uint64_t b) { return a & b; });
      })
      .Case([&](arith::OrIOp op) {
        return runArith(op, [](uint64_t a, uint64_t b) { return a | b; });
      })
      .Case([&](arith::XOrIOp op) {
        return runArith(op, [](uint64_t a, uint64_t b) { return a ^ b; });
      })
      // Index arithmetic wraps around.
      .Case([&](arith::AddIOp op) {
        return runArith(op, [](uint64_t a, uint64_t b) { return a + b; });
      })
      .Case([&](arith::SubIOp op) {
        return runArith(op, [](uint64_t a, uint64_t b) { return a - b; });
      })
      .Case([&](arith::MulIOp op) {
        return runArith(op, [](uint64_t a, uint64_t b) { return a * b; });
      })
      .Case([&](arith::MaxSIOp op) {
        return runArith(op,
                        [](int64_t a, int64_t b) { return std::max(a, b); });
      })
      .Case([&](arith::MinSIOp op) {
        return runArith(op,
                        [](int64_t a, int64_t b) { return std::min(a, b); });
      })
      .Case([&](arith::DivSIOp op) {
        return runDivision(op, [](int64_t a, int64_t b) { return a / b; });
      })
      .Case([&](arith::RemSIOp op) {
        return runDivision(op, [](int64_t a, int64_t b) { return a % b; });
      })
      .Case([&](arith::CeilDivSIOp op) {
        return runDivision(op, llvm::divideCeilSigned<int64_t, int64_t>);
      })
      .Case([&](arith::FloorDivSIOp op) {
        return runDivision(op, llvm::divideFloorSigned<int64_t, int64_t>);
      })
      .Default([](Operation *op) {
        return op->emitError()
               << "the interpreter does not support '" << op->getName() << "'";
      });
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Index arithmetic for shapes, and bits for masks.
static bool isSupported(Type type) {
  return type.isIndex() || type.isInteger(1);
}

LogicalResult Frame::run(arith::ConstantOp op) {
  auto value = dyn_cast<IntegerAttr>(op.getValue());
  if (!value || !isSupported(value.getType()))
    return op.emitError() << "the interpreter supports constants of type "
                             "index or i1, but got "
                          << op.getType();
  const APInt &bits = value.getValue();
  return set(op.getResult(),
             int64_t(value.getType().isIndex() ? bits.getSExtValue()
                                               : bits.getZExtValue()));
}

LogicalResult Frame::run(arith::CmpIOp op) {
  if (!op.getLhs().getType().isIndex())
    return op.emitError() << "the interpreter supports comparisons of index, "
                             "but got "
                          << op.getLhs().getType();
  const APInt lhs(64, index(op.getLhs()), true),
      rhs(64, index(op.getRhs()), true);
  return set(op.getResult(),
             int64_t(arith::applyCmpPredicate(op.getPredicate(), lhs, rhs)));
}

LogicalResult Frame::run(tensor::GenerateOp op) {
  if (!op.getType().getElementType().isInteger(1))
    return op.emitError() << "the interpreter supports masks of i1, but got "
                          << op.getType();
  SmallVector<int64_t> shape(op.getType().getShape());
  auto extent = op.getDynamicExtents().begin();
  for (int64_t &dim : shape)
    if (ShapedType::isDynamic(dim))
      dim = index(*extent++);
  FailureOr<Array> result = create(op.getResult(), shape);
  if (failed(result))
    return failure();
  for (auto [i, element] : llvm::enumerate(result->as<uint8_t>())) {
    int64_t rest = i;
    for (auto [argument, dim] :
         llvm::reverse(llvm::zip_equal(op.getBody().getArguments(), shape))) {
      values[argument] = rest % dim;
      rest /= dim;
    }
    FailureOr<SmallVector<RuntimeValue>> yielded = run(op.getBody().front());
    if (failed(yielded))
      return failure();
    element = std::get<int64_t>(yielded->front());
  }
  return success();
}

template <typename OpTy>
LogicalResult Frame::runArith(OpTy op,
                              function_ref<int64_t(int64_t, int64_t)> fn) {
  if (!op.getType().isIndex() &&
      !(op.getType().isInteger(1) &&
        isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op)))
    return op.emitError() << "the interpreter supports arithmetic on index, "
                             "but got "
                          << op.getType();
  return set(op.getResult(), fn(index(op.getLhs()), index(op.getRhs())));
}

template <typename OpTy>
LogicalResult Frame::runDivision(OpTy op,
                                 function_ref<int64_t(int64_t, int64_t)> fn) {
  int64_t divisor = op.getType().isIndex() ? index(op.getRhs()) : 1;
  if (divisor < 1)
    return op.emitError() << "expects a divisor of at least 1, but got "
                          << divisor;
  return runArith(op, fn);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

LogicalResult Frame::run(func::CallOp op) {
  auto callee = interpreter.lookup<func::FuncOp>(op, op.getCalleeAttr());
  auto arguments = llvm::map_to_vector(
      op.getOperands(), [&](Value value) { return content(value); });
  auto results = interpreter.run(
      cast<FunctionOpInterface>(callee.getOperation()), arguments);
  if (failed(results))
    return failure();
  for (auto [value, result] : llvm::zip_equal(op.getResults(), *results))
    if (failed(set(value, result)))
      return failure();
  return success();
}

LogicalResult Frame::run(LaunchOp op) {
  SmallVector<RuntimeValue> arguments;
  for (Value input : op.getInputs()) {
    arguments.push_back(content(input));
    if (auto *array = std::get_if<Array>(&arguments.back()))
      *array = array->toRowMajor();
  }
  for (Value out : op.getOuts())
    if (isa<KvCacheType>(out.getType()))
      arguments.push_back(content(out));
  interpreter.notifyLaunch(op, arguments);

  auto kernel = interpreter.lookup<KernelOp>(op, op.getKernelAttr());
  auto results = interpreter.run(
      cast<FunctionOpInterface>(kernel.getOperation()), arguments);
  if (failed(results))
    return failure();

  auto result = op.getResults().begin();
  for (auto [out, computed] : llvm::zip_equal(op.getOuts(), *results)) {
    if (auto *array = std::get_if<Array>(&computed)) {
      const Array &destination = this->array(out);
      if (array->shape != destination.shape)
        return op.emitError() << "expects outs of shape " << describe(computed)
                              << ", but got " << describe(destination);
      if (isa<MemRefType>(out.getType())) {
        destination.copyFrom(*array);
        continue;
      }
    }
    if (failed(set(*result++, computed)))
      return failure();
  }
  return success();
}
