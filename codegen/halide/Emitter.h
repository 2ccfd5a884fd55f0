//===- Emitter.h - From a kernel's operations to Halide ---------*- C++ -*-===//
//
// Builds the Halide algorithm of a kernel, one operation at a time, and notes
// the intermediate functions that a schedule has to place. A tensor [d0, …, dn]
// is a function of (xn, …, x0): Halide names the innermost dimension first.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_CODEGEN_HALIDE_EMITTER_H
#define TFM_CODEGEN_HALIDE_EMITTER_H

#include "codegen/halide/InstructionSet.h"
#include "dialect/TfmDialect.h"
#include "llvm/ADT/DenseMap.h"
#include <Halide.h>

namespace mlir::tfm {

/// A kernel is compiled twice, and picks by the number of rows of its first
/// output (dimension −2): decoding has few, prefill many. Both give the same
/// bits.
enum class Rows { Few, Many };

/// From this many rows on `Rows::Many` is used. Its tiles are at most as high,
/// so that a last tile may start further up instead of ending too far down.
inline constexpr int kManyRows = 8;

/// A tensor inside of a kernel.
struct Tensor {
  Halide::Func func;
  std::vector<Halide::Expr> extents; ///< innermost first
};

/// A weight matrix [N, K].
struct Matrix {
  RankedTensorType type;
  /// The parts that `tfm.unpack` names, or the matrix itself, row by row.
  std::vector<Halide::ImageParam> parts;
  bool isPacked;

  /// Which neighbours are vectors where the elements are read.
  enum class Order { RowByRow, ColumnByColumn };

  /// The element in row `n`, column `k` as f32. Rows that pad the last tile are
  /// numbers.
  Halide::Expr at(Halide::Expr n, Halide::Expr k, Order order) const;
};

/// A sum of integer products, see EmitLinear.cpp.
struct IntegerProduct {
  Halide::ImageParam quants;
  Halide::Func sum;    ///< (row of group, group, row of x), f32, over `block`
  Halide::Func dot;    ///< (row of group, block, group, row of x), i32
  Halide::Func halves; ///< partial sums of `dot`, undefined if unused
  Halide::Func wide;   ///< x in 16 bits, undefined if unused
  Halide::Func offset; ///< (block, row of x), undefined if unused
  Halide::RVar block;
  Halide::RDom inner; ///< of the first function that reads `quants`
  Halide::RDom pair;  ///< of `dot` over `halves`
};

/// A sum of f32 products, see EmitLinear.cpp.
struct FloatProduct {
  Halide::Func sum;   ///< (column of panel, panel, row of x)
  Halide::Func panel; ///< (column of panel, k, panel): weights as f32
  Halide::RVar k;
  int size;                 ///< K
  bool isPacked, isBlocked; ///< what the weights are
};

/// Attention, see EmitAttention.cpp. A row is (q, j, g, n, b): query q of block
/// n, head j of those that share key head g, sample b.
struct AttentionProduct {
  Halide::Func query;        ///< (d, row), scaled
  Halide::Func keys;         ///< (t, d, tile, g, b) as f32
  Halide::Func values;       ///< (d, t, tile, g, b) as f32
  Halide::Func product;      ///< (t, q, j, tile, g, n, b), over `depth`
  Halide::Func score;        ///< the same with the mask
  Halide::Func largestLanes; ///< (lane, row), over `step` and `tileOfStep`
  Halide::Func largest;      ///< (row)
  Halide::Func weight;       ///< (t, q, j, tile, g, n, b)
  Halide::Func lanes;        ///< (lane, row), over `step` and `tileOfStep`
  Halide::Func total;        ///< (row)
  Halide::Func mix;          ///< (d, q, j, tile, g, n, b), over `key`
  Halide::Func mixed;        ///< (d, row), over `tileOfMix`
  Halide::RVar depth, step, tileOfStep, key, tileOfMix;
  int queries, heads; ///< how many q and j there are
  int keySize, valueSize;
};

class KernelEmitter {
public:
  KernelEmitter(KernelOp kernel, InstructionSet isa, Rows rows);

  /// Builds the algorithm. Reports operations that it does not know.
  LogicalResult emit();
  /// Chooses the schedule; true if it is a tuned one.
  bool schedule();

  Halide::Pipeline getPipeline() const { return Halide::Pipeline(outputs); }
  ArrayRef<Halide::Argument> getArguments() const { return arguments; }
  /// The name of the buffer of lengths, if the pipeline wants the length of the
  /// first sample of its output as one more argument, after the others. Bounds
  /// of loops follow from a scalar, but not from an element of a buffer.
  std::optional<std::string> getLengths() const { return lengths; }

private:
  LogicalResult emitArgument(BlockArgument argument);
  LogicalResult emitOp(Operation *op);
  Halide::ImageParam createBuffer(Halide::Type type,
                                  const std::vector<int64_t> &extents);
  LogicalResult emitOutputs();

  // EmitElementwise.cpp
  void emit(AddOp op);
  void emit(MulOp op);
  void emit(AddVectorOp op);
  void emit(ScaleOp op);
  void emit(ActivationOp op);
  void emit(DropoutOp op);
  void emit(AddBiasOp op);
  void emit(ApplyMaskOp op);
  // EmitMasks.cpp
  template <typename MaskOp>
  void emitMask(MaskOp op,
                function_ref<Halide::Expr(Halide::Expr, Halide::Expr)> keeps);
  void emit(CausalMaskOp op);
  void emit(WindowMaskOp op);
  void emit(PaddingMaskOp op);
  void emit(MaskAndOp op);
  void emit(MaskNotOp op);
  // EmitEmbedding.cpp
  void emit(EmbedOp op);
  void emit(EmbedPositionsOp op);
  void emit(RopeOp op);
  void emit(SplitHeadsOp op);
  void emit(MergeHeadsOp op);
  void emit(RepeatHeadsOp op);
  void emit(TransposeOp op);
  // EmitNorm.cpp
  void emit(RmsNormOp op);
  void emit(LayerNormOp op);
  void emit(L2NormalizeOp op);
  void emit(PoolOp op);
  void emit(QuantizeOp op);
  // EmitLinear.cpp
  void emit(UnpackOp op);
  void emit(LinearOp op);
  void emit(QuantizedLinearOp op);
  // EmitAttention.cpp
  void emit(ScoresOp op);
  void emit(SoftmaxOp op);
  void emit(MixOp op);
  void emit(AttentionOp op);
  void emit(CacheAttentionOp op);
  void emit(CacheAppendOp op);

  /// Of each row of `input`, the sum of what `term` makes of its elements: the
  /// sums of every 8th element, then their sum. Noted as an intermediate.
  Halide::Func
  sumRows(const Tensor &input, int size, StringRef name,
          function_ref<Halide::Expr(std::vector<Halide::Expr>)> term);

  struct AttentionOperands;
  void emitAttention(Value result, const AttentionOperands &operands);
  void emitBinary(Operation *op,
                  Halide::Expr (*combine)(Halide::Expr, Halide::Expr));

  // Schedule*.cpp
  void scheduleIntegerProduct(const IntegerProduct &product,
                              Halide::LoopLevel tile);
  void scheduleFloatProduct(const FloatProduct &product, Halide::LoopLevel tile,
                            Halide::LoopLevel panel);
  void scheduleProducts();
  void scheduleAttention(const AttentionProduct &attention);
  void scheduleAppend();
  void scheduleGeneric();

  const Tensor &get(Value value) const { return tensors.find(value)->second; }
  /// The function behind a tensor.
  Halide::Func func(Value value) const { return get(value).func; }
  void set(Value value, Halide::Func func, std::vector<Halide::Expr> extents) {
    tensors[value] = {func, std::move(extents)};
  }
  /// The element of a mask or bias that broadcasts to position `at`, innermost
  /// dimension first.
  Halide::Expr broadcast(Value value, std::vector<Halide::Expr> at) const;
  Matrix getMatrix(Value value) const;
  std::string uniqueName(StringRef base);
  bool hasAvx512() const { return target != InstructionSet::Avx2; }

  /// Keys [capacity, G, T/64, D, 64], values [capacity, G, T, D'] and lengths
  /// of one layer of a cache.
  struct CacheBuffers {
    Halide::ImageParam keys, values, lengths;
  };

  KernelOp kernel;
  InstructionSet target;
  Rows rows;
  llvm::DenseMap<Value, Tensor> tensors;
  llvm::DenseMap<Value, Matrix> matrices;
  llvm::DenseMap<Value, Halide::ImageParam> buffers;
  llvm::DenseMap<Value, CacheBuffers> caches;
  llvm::DenseMap<Value, Halide::Expr> scalars;
  std::vector<Halide::Argument> arguments;
  std::vector<Halide::Func> outputs;

  // What the schedules place.
  std::vector<IntegerProduct> integerProducts;
  std::vector<FloatProduct> floatProducts;
  std::vector<AttentionProduct> attentions;
  /// What `cache_append` writes, with the variables of its updates.
  struct Append {
    Value result;
    Halide::Func keys, values;
    Halide::RVar depth, row, valueDepth;
    int64_t valueSize;
  };
  std::vector<Append> appends;
  /// (pair, s, b) angles of `rope` as (cos, sin), and what is rotated.
  struct Rotation {
    Halide::Func turn, rotated;
    int64_t dims, size;
    bool isInterleaved;
  };
  std::vector<Rotation> rotations;
  /// What is read several times, and not inlined. `exact` is the variable of an
  /// update that may run in any order, such as a maximum; `row` is the size of
  /// the innermost dimension if it is always computed as a whole.
  struct Intermediate {
    Halide::Func func;
    std::optional<Halide::RVar> exact;
    int row = 0;
  };
  std::vector<Intermediate> intermediates;
  Halide::Param<int32_t> length{"length"};
  std::optional<std::string> lengths;
  int names = 0;
};

/// The widest vector that divides `size`, at most `widest`, a power of 2.
int vectorWidth(int64_t size, int widest = 8);

/// An element of a weight that is not quantized as f32; bf16 comes as its bits.
Halide::Expr toFloat(Halide::Expr element);

/// Names for the dimensions of a tensor, innermost first.
std::vector<Halide::Var> makeVars(size_t rank);

/// A window, small enough that positions added to it are below 2^31.
int clampWindow(uint64_t window);

/// How many of `steps` steps of a sum to unroll, at most `wanted`. A sum keeps
/// a loop: the compiler adds the steps of a loop in order, but may reassociate
/// a sum that is a straight line.
int unrolledSteps(int64_t steps, int wanted);

} // namespace mlir::tfm

#endif // TFM_CODEGEN_HALIDE_EMITTER_H
