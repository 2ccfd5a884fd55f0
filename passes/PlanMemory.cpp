//===- PlanMemory.cpp - Every temporary's place in one arena --------------===//
//
// Expects functions of one block whose tensors come from arguments, loads and
// launches into `tensor.empty`. Promises buffers: results are arguments (but
// for the cache, which is still returned, so that its updates are), and
// temporaries views of the arena at offsets that follow from B and S. Reports
// what it cannot place.
//
//===----------------------------------------------------------------------===//

#include "dialect/Shapes.h"
#include "dialect/Weights.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"

namespace mlir::tfm {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "passes/Passes.h.inc"
} // namespace mlir::tfm

using namespace mlir;
using namespace mlir::tfm;

/// Temporaries start at multiples of a cache line.
static constexpr int64_t kAlignment = 64;

/// More than any machine has; sums of such sizes are far from wrapping around.
static constexpr int64_t kMostBytes = int64_t(1) << 40;

namespace {
/// What the size of a temporary grows with.
enum class SizeKind { PerRow, PerSample, Fixed };
constexpr size_t kSizeKinds = 3;

/// A product of a constant, samples and rows per sample.
struct Size {
  int64_t factor = 1;
  int batch = 0, length = 0; ///< how often B and S are factors
};

/// A temporary, alive from one operation of the block to another.
struct Temporary {
  OpResult value;
  int64_t first, last;
  SizeKind kind;
  int64_t bytes; ///< per unit of `kind`
  int64_t offset = 0;
};

/// Rewrites one function.
class Planner {
public:
  Planner(func::FuncOp function)
      : function(function), block(function.getBody().front()),
        builder(function.getContext()) {}

  LogicalResult plan(Pass::Statistic &numTemporaries);

private:
  LogicalResult collect();
  void bindArguments();
  void addArgumentAttrs(Attribute name, bool isResult);
  LogicalResult bindResults();
  void place();
  void createArena();
  LogicalResult rewrite(Operation &op);
  void rewriteLaunch(LaunchOp launch);
  void finish();

  void findSizes();
  int64_t lastUse(Value value);
  Value scaled(Value unit, int64_t factor);
  Value createView(const Temporary &temporary);
  MemRefType bufferType(Type tensor);

  func::FuncOp function;
  Block &block;
  OpBuilder builder;
  DenseMap<Operation *, int64_t> positions;
  SmallVector<Temporary> temporaries;
  DenseMap<Value, size_t> temporaryOf;
  std::array<int64_t, kSizeKinds> peak = {};
  IRMapping buffers;
  /// What is a product of a constant, B and S.
  DenseMap<Value, Size> sizes;
  /// Of the arguments that are added.
  SmallVector<Attribute> addedAttrs;
  Value arena;
  /// B · S and B.
  Value rows, samples;
  /// Where each kind's part of the arena starts.
  std::array<Value, kSizeKinds> bases;
};
} // namespace

/// True for operations that give another view of their first operand.
static bool isView(Operation *op) {
  return isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp,
             tensor::ExtractSliceOp>(op);
}

MemRefType Planner::bufferType(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return MemRefType::get(type.getShape(), type.getElementType());
}

/// The product of two sizes, more than `kMostBytes` if it is too large.
static int64_t multiply(int64_t lhs, int64_t rhs) {
  std::optional<int64_t> product = llvm::checkedMul(lhs, rhs);
  bool fits = lhs >= 0 && rhs >= 0 && product && *product <= kMostBytes;
  return fits ? *product : kMostBytes + 1;
}

static Size operator*(const Size &lhs, const Size &rhs) {
  // More than once is too often, however often.
  return {multiply(lhs.factor, rhs.factor), std::min(lhs.batch + rhs.batch, 2),
          std::min(lhs.length + rhs.length, 2)};
}

/// Finds the sizes that are products. Dimension 0 of the first argument is B,
/// dimension 1 is S.
void Planner::findSizes() {
  for (Operation &op : block) {
    if (op.getNumResults() != 1)
      continue;
    Value size = op.getResult(0);
    if (std::optional<int64_t> constant = getConstantIntValue(size)) {
      sizes[size] = {*constant, 0, 0};
    } else if (auto dim = dyn_cast<tensor::DimOp>(op);
               dim && dim.getSource() == block.getArgument(0)) {
      if (dim.getConstantIndex() == 0)
        sizes[size] = {1, 1, 0};
      else if (dim.getConstantIndex() == 1)
        sizes[size] = {1, 0, 1};
    } else if (isa<arith::MulIOp>(op)) {
      auto lhs = sizes.find(op.getOperand(0)),
           rhs = sizes.find(op.getOperand(1));
      if (lhs != sizes.end() && rhs != sizes.end()) {
        Size product = lhs->second * rhs->second;
        sizes[size] = product;
      }
    }
  }
}

int64_t Planner::lastUse(Value value) {
  int64_t last = positions.lookup(value.getDefiningOp());
  for (Operation *user : value.getUsers()) {
    last = std::max(last, positions.lookup(user));
    if (isView(user))
      last = std::max(last, lastUse(user->getResult(0)));
  }
  return last;
}

/// Finds the temporaries: the tensors that launches write.
LogicalResult Planner::collect() {
  findSizes();
  for (auto [index, op] : llvm::enumerate(block))
    positions[&op] = index;
  for (LaunchOp launch : block.getOps<LaunchOp>())
    for (auto [out, result] :
         llvm::zip_equal(launch.getOuts(), launch.getResults())) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!type)
        continue;
      auto empty = out.getDefiningOp<tensor::EmptyOp>();
      if (!empty)
        return launch.emitOpError(
            "expects to write into an empty tensor, but its destination holds "
            "a value");
      Temporary temporary{result, positions[launch], lastUse(result),
                          SizeKind::Fixed,
                          (type.getElementTypeBitWidth() + 7) / 8};
      for (int64_t dim : type.getShape())
        if (!ShapedType::isDynamic(dim))
          temporary.bytes = multiply(temporary.bytes, dim);
      Size whole;
      for (Value dim : empty.getDynamicSizes()) {
        auto size = sizes.find(dim);
        if (size == sizes.end())
          return launch.emitOpError("expects sizes that are products of the "
                                    "batch and the length, but got ")
                 << dim;
        whole = whole * size->second;
      }
      if (whole.batch > 1 || whole.length > 1)
        return launch.emitOpError("expects sizes with the batch B and the "
                                  "length S once at most, but got B^")
               << whole.batch << "·S^" << whole.length << " in " << type;
      temporary.bytes = multiply(temporary.bytes, whole.factor);
      if (temporary.bytes > kMostBytes)
        return launch.emitOpError("expects temporaries of at most ")
               << kMostBytes << " bytes per row, but got " << type;
      if (whole.length)
        temporary.kind = SizeKind::PerRow;
      else if (whole.batch)
        temporary.kind = SizeKind::PerSample;
      temporary.bytes = llvm::alignTo(temporary.bytes, kAlignment);
      temporaryOf[result] = temporaries.size();
      temporaries.push_back(temporary);
    }
  return success();
}

/// Puts its buffer behind each tensor, which stays until nothing reads it.
void Planner::bindArguments() {
  for (unsigned i = block.getNumArguments(); i-- != 0;) {
    BlockArgument tensor = block.getArgument(i);
    if (isa<RankedTensorType>(tensor.getType()))
      buffers.map(tensor,
                  block.insertArgument(i + 1, bufferType(tensor.getType()),
                                       tensor.getLoc()));
  }
}

/// Of the next argument that is added: its name, if any, and whether it stands
/// for a result.
void Planner::addArgumentAttrs(Attribute name, bool isResult) {
  NamedAttrList attrs;
  if (name)
    attrs.set("tfm.name", name);
  if (isResult)
    attrs.set("tfm.result", builder.getUnitAttr());
  addedAttrs.push_back(attrs.getDictionary(function.getContext()));
}

/// Makes arguments of the results and lets the launches write there.
LogicalResult Planner::bindResults() {
  builder.setInsertionPointToStart(&block);
  auto terminator = cast<func::ReturnOp>(block.getTerminator());
  for (auto [index, value] : llvm::enumerate(terminator.getOperands())) {
    if (isa<KvCacheType>(value.getType()))
      continue;
    Value buffer =
        block.addArgument(bufferType(value.getType()), value.getLoc());
    addArgumentAttrs(function.getResultAttr(index, "tfm.name"), true);
    Value made = value;
    while (auto expand = made.getDefiningOp<tensor::ExpandShapeOp>()) {
      buffer = memref::CollapseShapeOp::create(
          builder, expand.getLoc(), buffer, expand.getReassociationIndices());
      made = expand.getSrc();
    }
    if (!temporaryOf.contains(made) || buffers.contains(made))
      return function.emitError("expects result ")
             << index << " to be written by a launch of its own";
    buffers.map(made, buffer);
  }
  return success();
}

/// First fit, in the order in which the temporaries come to life.
void Planner::place() {
  SmallVector<Temporary *> placed;
  for (Temporary &temporary : temporaries) {
    if (buffers.contains(temporary.value))
      continue;
    SmallVector<Temporary *> alive;
    for (Temporary *other : placed)
      if (other->kind == temporary.kind && other->last >= temporary.first &&
          other->first <= temporary.last)
        alive.push_back(other);
    llvm::sort(alive, [](Temporary *a, Temporary *b) {
      return a->offset < b->offset;
    });
    for (Temporary *other : alive)
      if (temporary.offset + temporary.bytes > other->offset)
        temporary.offset =
            std::max(temporary.offset, other->offset + other->bytes);
    int64_t &end = peak[static_cast<size_t>(temporary.kind)];
    end = std::max(end, temporary.offset + temporary.bytes);
    placed.push_back(&temporary);
  }
}

/// `unit` · `factor`.
Value Planner::scaled(Value unit, int64_t factor) {
  Location loc = function.getLoc();
  return arith::MulIOp::create(
      builder, loc, unit, arith::ConstantIndexOp::create(builder, loc, factor));
}

void Planner::createArena() {
  Location loc = function.getLoc();
  builder.setInsertionPointToStart(&block);
  arena = block.addArgument(
      MemRefType::get({ShapedType::kDynamic}, builder.getI8Type()), loc);
  addArgumentAttrs(builder.getStringAttr("arena"), false);

  Value first = buffers.lookup(block.getArgument(0));
  samples = memref::DimOp::create(builder, loc, first, 0);
  Value length = memref::DimOp::create(builder, loc, first, 1);
  rows = arith::MulIOp::create(builder, loc, samples, length);
  bases[0] = arith::ConstantIndexOp::create(builder, loc, 0);
  bases[1] = scaled(rows, peak[0]);
  bases[2] =
      arith::AddIOp::create(builder, loc, bases[1], scaled(samples, peak[1]));
}

Value Planner::createView(const Temporary &temporary) {
  Location loc = temporary.value.getLoc();
  Value offset;
  switch (temporary.kind) {
  case SizeKind::PerRow:
    offset = scaled(rows, temporary.offset);
    break;
  case SizeKind::PerSample:
    offset = scaled(samples, temporary.offset);
    break;
  case SizeKind::Fixed:
    offset = arith::ConstantIndexOp::create(builder, loc, temporary.offset);
    break;
  }
  Value shift = arith::AddIOp::create(
      builder, loc, bases[static_cast<size_t>(temporary.kind)], offset);
  auto launch = cast<LaunchOp>(temporary.value.getOwner());
  auto empty = launch.getOuts()[temporary.value.getResultNumber()]
                   .getDefiningOp<tensor::EmptyOp>();
  return memref::ViewOp::create(builder, loc,
                                bufferType(temporary.value.getType()), arena,
                                shift, empty.getDynamicSizes());
}

void Planner::rewriteLaunch(LaunchOp launch) {
  SmallVector<Value> inputs, outs;
  for (Value input : launch.getInputs())
    inputs.push_back(buffers.lookupOrDefault(input));
  for (auto [out, result] :
       llvm::zip_equal(launch.getOuts(), launch.getResults())) {
    if (isa<KvCacheType>(result.getType())) {
      outs.push_back(out);
      continue;
    }
    if (!buffers.contains(result))
      buffers.map(result, createView(temporaries[temporaryOf[result]]));
    outs.push_back(buffers.lookup(result));
  }
  auto planned = LaunchOp::create(builder, launch.getLoc(), launch.getKernel(),
                                  inputs, outs, launch.getTile());
  auto next = planned.getResults().begin();
  for (Value result : launch.getResults())
    if (isa<KvCacheType>(result.getType()))
      result.replaceAllUsesWith(*next++);
}

LogicalResult Planner::rewrite(Operation &op) {
  builder.setInsertionPoint(&op);
  Location loc = op.getLoc();
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<tensor::DimOp>([&](auto dim) {
        dim.getResult().replaceAllUsesWith(
            memref::DimOp::create(builder, loc,
                                  buffers.lookupOrDefault(dim.getSource()),
                                  dim.getIndex())
                .getResult());
        return success();
      })
      .Case<LoadOp>([&](auto load) {
        buffers.map(load.getResult(),
                    LoadOp::create(builder, loc, bufferType(load.getType()),
                                   load.getWeight())
                        .getResult());
        return success();
      })
      .Case<CacheLengthsOp>([&](auto lengths) {
        buffers.map(lengths.getResult(),
                    CacheLengthsOp::create(builder, loc,
                                           bufferType(lengths.getType()),
                                           lengths.getCache())
                        .getResult());
        return success();
      })
      .Case<tensor::CollapseShapeOp>([&](auto collapse) {
        buffers.map(collapse.getResult(),
                    memref::CollapseShapeOp::create(
                        builder, loc,
                        buffers.lookupOrDefault(collapse.getSrc()),
                        collapse.getReassociationIndices())
                        .getResult());
        return success();
      })
      .Case<tensor::ExpandShapeOp>([&](auto expand) {
        buffers.map(expand.getResult(),
                    memref::ExpandShapeOp::create(
                        builder, loc, bufferType(expand.getType()),
                        buffers.lookupOrDefault(expand.getSrc()),
                        expand.getReassociationIndices(),
                        expand.getMixedOutputShape())
                        .getResult());
        return success();
      })
      .Case<tensor::ExtractSliceOp>([&](auto slice) {
        Value source = buffers.lookupOrDefault(slice.getSource());
        MemRefType type = memref::SubViewOp::inferRankReducedResultType(
            slice.getType().getShape(), cast<MemRefType>(source.getType()),
            slice.getMixedOffsets(), slice.getMixedSizes(),
            slice.getMixedStrides());
        buffers.map(slice.getResult(),
                    memref::SubViewOp::create(
                        builder, loc, type, source, slice.getMixedOffsets(),
                        slice.getMixedSizes(), slice.getMixedStrides())
                        .getResult());
        return success();
      })
      .Case<LaunchOp>([&](auto launch) {
        rewriteLaunch(launch);
        return success();
      })
      .Case<func::ReturnOp>([&](auto terminator) {
        SmallVector<Value> caches =
            llvm::filter_to_vector(terminator.getOperands(), [](Value value) {
              return isa<KvCacheType>(value.getType());
            });
        func::ReturnOp::create(builder, loc, caches);
        return success();
      })
      .Case<tensor::EmptyOp>([&](auto) { return success(); })
      .Default([&](Operation *op) -> LogicalResult {
        if (llvm::none_of(op->getOperandTypes(), llvm::IsaPred<TensorType>) &&
            llvm::none_of(op->getResultTypes(), llvm::IsaPred<TensorType>))
          return success();
        return op->emitOpError("expects to be in a kernel: only launches, "
                               "loads and views of tensors can be planned");
      });
}

/// Gives the function its new type, names and formula.
void Planner::finish() {
  unsigned known = function.getNumArguments();
  function.removeResAttrsAttr();
  function.setType(builder.getFunctionType(
      block.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
  SmallVector<Attribute> attributes;
  if (ArrayAttr present = function.getArgAttrsAttr())
    attributes.append(present.begin(), present.end());
  attributes.resize(known, builder.getDictionaryAttr({}));
  llvm::append_range(attributes, addedAttrs);
  function.setArgAttrsAttr(builder.getArrayAttr(attributes));
  function->setAttr("tfm.arena", ArenaAttr::get(function.getContext(), peak[0],
                                                peak[1], peak[2]));
}

LogicalResult Planner::plan(Pass::Statistic &numTemporaries) {
  auto first =
      function.getNumArguments() == 0
          ? RankedTensorType()
          : dyn_cast<RankedTensorType>(function.getArgument(0).getType());
  if (!first || first.getRank() < 2)
    return function.emitError(
        "expects a first argument whose leading dimensions are B and S");
  if (failed(collect()))
    return failure();
  SmallVector<Operation *> old;
  for (Operation &op : block)
    old.push_back(&op);
  bindArguments();
  if (failed(bindResults()))
    return failure();
  place();
  createArena();
  for (Operation *op : old)
    if (failed(rewrite(*op)))
      return failure();
  for (Operation *op : llvm::reverse(old))
    if (isa<tensor::DimOp, tensor::EmptyOp, LaunchOp, func::ReturnOp>(op) ||
        llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>))
      op->erase();
  block.eraseArguments([](BlockArgument argument) {
    return isa<RankedTensorType>(argument.getType());
  });
  finish();
  numTemporaries += temporaries.size();
  return success();
}

namespace {
struct PlanMemoryPass : tfm::impl::PlanMemoryPassBase<PlanMemoryPass> {
  using Base::Base;

  LogicalResult plan(func::FuncOp function) {
    if (!llvm::hasSingleElement(function.getBody()))
      return function.emitError("expects a function of one block");
    return Planner(function).plan(numTemporaries);
  }

  void runOnOperation() override {
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (!function->hasAttr("tfm.arena") && failed(plan(function)))
        return signalPassFailure();
  }
};
} // namespace
