//===- Frame.h - One call of a function -------------------------*- C++ -*-===//
//
// The values of one call, and what each operation does to them. Internal to the
// interpreter; the operations stand in one file per family.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_DIALECT_INTERP_FRAME_H
#define TFM_DIALECT_INTERP_FRAME_H

#include "dialect/interp/Interpreter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::tfm {

class Frame {
public:
  explicit Frame(Interpreter &interpreter) : interpreter(interpreter) {}

  /// Gives `value` its content. Reports at `reporter` if that is not of the
  /// value's type.
  LogicalResult set(Operation *reporter, Value value, RuntimeValue content);

  /// Runs a block up to its terminator and returns the terminator's operands.
  FailureOr<SmallVector<RuntimeValue>> run(Block &block);

private:
  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  const RuntimeValue &content(Value value) {
    return values.find(value)->second;
  }
  int64_t index(Value value) { return std::get<int64_t>(content(value)); }
  const Array &array(Value value) { return std::get<Array>(content(value)); }
  const std::shared_ptr<Cache> &cache(Value value) {
    return std::get<std::shared_ptr<Cache>>(content(value));
  }
  SmallVector<int64_t> indices(ArrayRef<OpFoldResult> mixed);

  /// A zeroed array, unless it would be too large.
  FailureOr<Array> allocate(Operation *op, Type elementType,
                            ArrayRef<int64_t> shape);
  /// Makes a zeroed array of `shape` the content of an operation's result.
  FailureOr<Array> create(OpResult result, ArrayRef<int64_t> shape);
  FailureOr<Array> create(Value result, ArrayRef<int64_t> shape) {
    return create(cast<OpResult>(result), shape);
  }
  LogicalResult set(Value result, RuntimeValue content) {
    return set(result.getDefiningOp(), result, std::move(content));
  }

  //===--------------------------------------------------------------------===//
  // Operations
  //===--------------------------------------------------------------------===//

  LogicalResult dispatch(Operation *op);

  // Control.cpp
  LogicalResult run(arith::ConstantOp op);
  template <typename OpTy>
  LogicalResult runArith(OpTy op, function_ref<int64_t(int64_t, int64_t)> fn);
  template <typename OpTy>
  LogicalResult runDivision(OpTy op,
                            function_ref<int64_t(int64_t, int64_t)> fn);
  LogicalResult run(func::CallOp op);
  LogicalResult run(LaunchOp op);

  LogicalResult run(arith::CmpIOp op);
  LogicalResult run(tensor::GenerateOp op);

  // Buffers.cpp
  LogicalResult runDim(Operation *op, Value source, Value index);
  LogicalResult runReshape(Operation *op, ArrayRef<int64_t> shape);
  LogicalResult runCollapse(Operation *op,
                            ArrayRef<ReassociationIndices> groups);
  LogicalResult runSlice(OffsetSizeAndStrideOpInterface op,
                         const llvm::SmallBitVector &droppedDims);
  LogicalResult run(tensor::EmptyOp op);
  LogicalResult run(memref::ViewOp op);
  LogicalResult run(memref::CopyOp op);

  // Attention.cpp
  template <typename MaskOp>
  LogicalResult runMask(MaskOp op, function_ref<bool(int64_t, int64_t)> keeps);
  LogicalResult run(CausalMaskOp op);
  LogicalResult run(WindowMaskOp op);
  LogicalResult run(PaddingMaskOp op);
  LogicalResult run(MaskAndOp op);
  LogicalResult run(MaskNotOp op);
  LogicalResult run(SplitHeadsOp op);
  LogicalResult run(MergeHeadsOp op);
  LogicalResult run(RepeatHeadsOp op);
  LogicalResult run(TransposeOp op);
  LogicalResult run(MatmulOp op);
  LogicalResult run(ScoresOp op);
  LogicalResult run(ScaleOp op);
  LogicalResult run(AddBiasOp op);
  LogicalResult run(ApplyMaskOp op);
  LogicalResult run(SoftmaxOp op);
  LogicalResult run(DropoutOp op);
  LogicalResult run(MixOp op);
  LogicalResult run(AttentionOp op);

  // Caches.cpp
  LogicalResult verifyLayer(Operation *op, const Cache &cache, int64_t layer);
  LogicalResult run(CacheCreateOp op);
  LogicalResult run(CacheLengthsOp op);
  LogicalResult run(CacheAppendOp op);
  LogicalResult run(CacheAdvanceOp op);
  LogicalResult run(CacheTruncateOp op);
  LogicalResult run(CacheGatherOp op);
  LogicalResult run(CacheAttentionOp op);

  // Layers.cpp
  LogicalResult run(EmbedOp op);
  LogicalResult run(EmbedPositionsOp op);
  LogicalResult run(RopeOp op);
  FailureOr<std::vector<float>> vectorOf(Operation *op, Value vector,
                                         int64_t size);
  LogicalResult run(RmsNormOp op);
  LogicalResult run(LayerNormOp op);
  LogicalResult run(L2NormalizeOp op);
  LogicalResult run(PoolOp op);
  LogicalResult run(LinearOp op);
  LogicalResult run(ActivationOp op);
  LogicalResult run(AddOp op);
  LogicalResult run(MulOp op);
  LogicalResult run(AddVectorOp op);
  LogicalResult run(FfnOp op);

  // Quantization.cpp
  LogicalResult run(QuantizeOp op);
  LogicalResult run(QuantizedLinearOp op);

  // Storage.cpp
  LogicalResult run(LoadOp op);
  LogicalResult run(UnpackOp op);

  Interpreter &interpreter;
  DenseMap<Value, RuntimeValue> values;
};

} // namespace mlir::tfm

#endif // TFM_DIALECT_INTERP_FRAME_H
