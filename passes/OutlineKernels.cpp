//===- OutlineKernels.cpp - Work moves into kernels -----------------------===//
//
// Expects functions of one block, with tfm operations on tensors. Promises
// functions of launches, each of whose kernels is a serial piece of work over
// tiles of its outputs. Leaves alone loads, shape arithmetic, slices and the
// bookkeeping of the cache.
//
// Operations are first put into groups, then each group becomes a kernel:
//
// - an anchor reads whole rows of its operands and opens a group;
// - an elementwise operation joins the group that makes its operand for it
//   alone, and so joins two groups that make one operand each;
// - a relayout is computed wherever it is read, in the group of each reader.
//
//===----------------------------------------------------------------------===//

#include "dialect/Shapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Dims.h"
#include "passes/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::tfm {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::tfm

using namespace mlir;
using namespace mlir::tfm;

//===----------------------------------------------------------------------===//
// What belongs together
//===----------------------------------------------------------------------===//

static bool isRelayout(Operation *op) {
  return isa<SplitHeadsOp, RepeatHeadsOp, RopeOp, CausalMaskOp, WindowMaskOp,
             PaddingMaskOp, MaskAndOp, MaskNotOp>(op);
}

static bool isElementwise(Operation *op) {
  return isa<AddOp, MulOp, AddVectorOp, ActivationOp, ScaleOp, AddBiasOp,
             ApplyMaskOp, DropoutOp>(op);
}

static bool isAnchor(Operation *op) {
  return isa<EmbedOp, EmbedPositionsOp, RmsNormOp, LayerNormOp, L2NormalizeOp,
             PoolOp, LinearOp, QuantizeOp, QuantizedLinearOp, ScoresOp,
             SoftmaxOp, MixOp, AttentionOp, CacheAttentionOp, CacheAppendOp,
             MergeHeadsOp, TransposeOp>(op);
}

/// Works on rows of E elements, whatever the dimensions before them mean.
static bool isRowWise(Operation *op) {
  return isa<EmbedOp, RmsNormOp, LayerNormOp, L2NormalizeOp, LinearOp,
             QuantizeOp, QuantizedLinearOp, AddOp, MulOp, AddVectorOp,
             ActivationOp, ScaleOp, DropoutOp>(op);
}

/// Becomes part of kernels; the host does the rest.
static bool isOutlined(Operation *op) {
  return isElementwise(op) || isAnchor(op) || isRelayout(op);
}

/// True if `op` can be computed along with the tiles of the operation that
/// makes its operand.
static bool canFollow(Operation *op, Operation *producer) {
  if (isElementwise(op))
    return !isa<QuantizeOp, CacheAppendOp>(producer);
  if (isa<QuantizeOp>(op))
    return isa<RmsNormOp, LayerNormOp>(producer);
  return isa<MergeHeadsOp>(op) &&
         isa<MixOp, AttentionOp, CacheAttentionOp>(producer);
}

namespace {
using Group = llvm::SetVector<Operation *>;

/// The groups of one block.
class Grouping {
public:
  explicit Grouping(Block &block) {
    for (Operation &op : block)
      if (isElementwise(&op) || isAnchor(&op))
        place(&op);
      else if (isRelayout(&op) && isReadByHost(&op))
        place(&op);
  }

  /// The groups in the order of their last operations, each in the order of the
  /// block. Relayouts may stand in several.
  SmallVector<SmallVector<Operation *>> takeGroups() {
    SmallVector<SmallVector<Operation *>> result;
    for (std::unique_ptr<Group> &group : groups) {
      if (group->empty())
        continue;
      SmallVector<Operation *> ops = group->takeVector();
      llvm::sort(ops, [](Operation *a, Operation *b) {
        return a->isBeforeInBlock(b);
      });
      result.push_back(std::move(ops));
    }
    llvm::sort(result, [](const auto &a, const auto &b) {
      return a.back()->isBeforeInBlock(b.back());
    });
    return result;
  }

private:
  static bool isReadByHost(Operation *op) {
    return !llvm::all_of(op->getUsers(), isOutlined);
  }

  void place(Operation *op) {
    Group *group = nullptr;
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      Group *made = producer ? groupOf.lookup(producer) : nullptr;
      if (!made || made == group || !operand.hasOneUse() ||
          !canFollow(op, producer))
        continue;
      group = group ? merge(*group, *made) : made;
    }
    if (!group)
      group = groups.emplace_back(std::make_unique<Group>()).get();
    group->insert(op);
    groupOf[op] = group;
    for (Value operand : op->getOperands())
      takeRelayouts(operand, *group);
  }

  void takeRelayouts(Value value, Group &group) {
    Operation *op = value.getDefiningOp();
    if (!op || !isRelayout(op) || !group.insert(op))
      return;
    for (Value operand : op->getOperands())
      takeRelayouts(operand, group);
  }

  Group *merge(Group &into, Group &from) {
    for (Operation *op : from) {
      into.insert(op);
      groupOf[op] = &into;
    }
    from.clear();
    return &into;
  }

  SmallVector<std::unique_ptr<Group>> groups;
  DenseMap<Operation *, Group *> groupOf;
};
} // namespace

//===----------------------------------------------------------------------===//
// How a kernel's output is cut into tiles
//===----------------------------------------------------------------------===//

/// Columns of a linear map per tile: few enough that every thread finds work,
/// many enough that claiming a tile costs nothing beside it.
static int64_t columnsPerTile(int64_t columns) {
  int64_t wanted = llvm::divideCeilSigned(columns, 12);
  return std::clamp<int64_t>(llvm::alignTo(wanted, 32), 32, 1024);
}

/// The `tile` of a launch of these operations, whose first output has the given
/// type.
static SmallVector<int64_t> chooseTile(ArrayRef<Operation *> ops, Type out) {
  constexpr int64_t kRows = 64, kNormRows = 4, kQueries = 64;
  auto find = [&](auto predicate) {
    auto it = llvm::find_if(ops, predicate);
    return it == ops.end() ? nullptr : *it;
  };
  if (find(llvm::IsaPred<CacheAppendOp>))
    return {1, 1};
  auto type = cast<RankedTensorType>(out);
  if (find(llvm::IsaPred<LinearOp, QuantizedLinearOp>))
    return {kRows, columnsPerTile(type.getShape().back())};
  if (Operation *op = find(llvm::IsaPred<AttentionOp, CacheAttentionOp>)) {
    // The query heads that share a key head stay together.
    int64_t heads = shapeOf(op->getOperand(0))[1];
    int64_t groups = 1;
    if (auto attention = dyn_cast<AttentionOp>(op))
      groups = attention.getKey().getType().getDimSize(1);
    else
      groups = cast<CacheAttentionOp>(op).getCache().getType().getHeads();
    int64_t shared = heads / groups;
    int64_t valueSize = shapeOf(op->getResult(0))[3];
    if (type.getRank() == 3)
      return {1, kQueries, shared * valueSize};
    return {1, shared, kQueries, 0};
  }
  if (type.getRank() == 4)
    return {1, 1, kQueries, 0};
  if (type.getRank() == 3)
    return {1, kNormRows};
  return {kNormRows};
}

//===----------------------------------------------------------------------===//
// From a group to a kernel and its launch
//===----------------------------------------------------------------------===//

/// The type of a kernel's argument: batch and lengths are left open, so that
/// prefill and decode share kernels.
static Type generalize(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type;
  SmallVector<int64_t> shape(tensor.getShape());
  switch (tensor.getRank()) {
  case 1:
  case 2:
    shape[0] = ShapedType::kDynamic;
    break;
  case 3:
    shape[0] = shape[1] = ShapedType::kDynamic;
    break;
  case 4:
    shape[0] = shape[2] = ShapedType::kDynamic;
    break;
  }
  return tensor.clone(shape);
}

/// Clones `op` with mapped operands and the result types that follow from them.
static LogicalResult cloneInferred(OpBuilder &builder, Operation *op,
                                   IRMapping &mapping) {
  Operation *clone = builder.clone(*op, mapping);
  auto inferable = dyn_cast<InferTypeOpInterface>(clone);
  if (!inferable)
    return success();
  SmallVector<Type> types;
  if (failed(inferable.inferReturnTypes(
          op->getContext(), op->getLoc(), clone->getOperands(),
          clone->getAttrDictionary(), clone->getPropertiesStorage(),
          clone->getRegions(), types)))
    return failure();
  for (auto [result, type] : llvm::zip_equal(clone->getResults(), types))
    result.setType(type);
  return success();
}

namespace {
/// Outlines the groups of one function.
class Outliner {
public:
  Outliner(func::FuncOp function, llvm::StringMap<KernelOp> &kernels,
           SymbolTable &symbols)
      : function(function), kernels(kernels), symbols(symbols),
        builder(function.getContext()) {}

  LogicalResult outline(ArrayRef<Operation *> ops);

private:
  bool isWeight(Value value) {
    return value.getDefiningOp<LoadOp>() != nullptr;
  }
  Value dimOf(Value value, int64_t dim);
  Value flatten(Value value);
  Value createOut(Value result, Type kernelType, bool flat);
  FailureOr<KernelOp> createKernel(ArrayRef<Operation *> ops,
                                   ArrayRef<Value> inputs,
                                   ArrayRef<Value> caches,
                                   ArrayRef<Value> passed,
                                   ArrayRef<Value> results);

  func::FuncOp function;
  llvm::StringMap<KernelOp> &kernels;
  SymbolTable &symbols;
  OpBuilder builder;
  /// The unknown dimensions of values that launches make.
  DenseMap<std::pair<Value, int64_t>, Value> dims;
};
} // namespace

/// Dimension `dim` of a value as an index, from the values outside of the group
/// that it follows from.
Value Outliner::dimOf(Value value, int64_t dim) {
  Location loc = value.getLoc();
  int64_t known = shapeOf(value)[dim];
  if (!ShapedType::isDynamic(known))
    return arith::ConstantIndexOp::create(builder, loc, known);
  if (Value found = dims.lookup({value, dim}))
    return found;
  std::optional<DimSource> source = getDimSource(value, dim);
  if (!source)
    return tensor::DimOp::create(builder, loc, value, dim);
  return source->dim ? dimOf(source->value, *source->dim) : source->value;
}

/// [B, S, E] as [R, E], and tokens [B, S] as [R].
Value Outliner::flatten(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || isWeight(value))
    return value;
  SmallVector<ReassociationIndices> rows = {{0, 1}};
  if (type.getRank() == 3)
    rows.push_back({2});
  return tensor::CollapseShapeOp::create(builder, value.getLoc(), value, rows);
}

/// Fails if a dimension of a result follows from nothing outside of the group.
static LogicalResult verifyDims(ArrayRef<Value> results,
                                function_ref<bool(Operation *)> isInside) {
  for (Value result : results) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    for (int64_t dim = 0, rank = type ? type.getRank() : 0; dim != rank;
         ++dim) {
      DimSource source = traceDim({result, dim});
      Operation *op = source.value.getDefiningOp();
      if (!getKnownDim(source) && isInside(op))
        return op->emitOpError("expects a dimension ")
               << *source.dim
               << " that is known, or that of one of its operands";
    }
  }
  return success();
}

/// What the launch writes `result` into.
Value Outliner::createOut(Value result, Type kernelType, bool flat) {
  auto type = cast<RankedTensorType>(kernelType);
  auto original = cast<RankedTensorType>(result.getType());
  SmallVector<OpFoldResult> sizes;
  for (int64_t dim = 0, rank = original.getRank(); dim != rank; ++dim) {
    Value size = dimOf(result, dim);
    if (flat && dim == 1)
      sizes.back() = arith::MulIOp::create(builder, result.getLoc(),
                                           cast<Value>(sizes.back()), size)
                         .getResult();
    else if (!ShapedType::isDynamic(original.getDimSize(dim)) &&
             !(flat && dim == 0))
      sizes.push_back(builder.getIndexAttr(original.getDimSize(dim)));
    else
      sizes.push_back(size);
  }
  return tensor::EmptyOp::create(builder, result.getLoc(), sizes,
                                 type.getElementType());
}

FailureOr<KernelOp> Outliner::createKernel(ArrayRef<Operation *> ops,
                                           ArrayRef<Value> inputs,
                                           ArrayRef<Value> caches,
                                           ArrayRef<Value> passed,
                                           ArrayRef<Value> results) {
  SmallVector<Type> types;
  for (auto [input, value] : llvm::zip_equal(inputs, passed))
    types.push_back(isWeight(input) ? value.getType()
                                    : generalize(value.getType()));
  llvm::append_range(types, TypeRange(ValueRange(caches)));

  OpBuilder::InsertionGuard guard(builder);
  builder.clearInsertionPoint();
  Location loc = ops.front()->getLoc();
  auto kernel =
      KernelOp::create(builder, loc, "kernel",
                       builder.getFunctionType(types, {}), nullptr, nullptr);
  Block &body = kernel.getBody().emplaceBlock();
  body.addArguments(types, SmallVector<Location>(types.size(), loc));
  IRMapping mapping;
  mapping.map(inputs, body.getArguments().take_front(inputs.size()));
  mapping.map(caches, body.getArguments().take_back(caches.size()));

  builder.setInsertionPointToStart(&body);
  SmallVector<StringRef> names;
  for (Operation *op : ops) {
    if (failed(cloneInferred(builder, op, mapping)))
      return failure();
    if (!isRelayout(op))
      names.push_back(op->getName().stripDialect());
  }
  SmallVector<Value> yielded;
  for (Value result : results)
    yielded.push_back(mapping.lookup(result));
  kernel.setType(
      builder.getFunctionType(types, TypeRange(ValueRange(yielded))));
  YieldOp::create(builder, loc, yielded);

  // Kernels that print alike are alike.
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel->print(os, OpPrintingFlags().useLocalScope());
  KernelOp &known = kernels[text];
  if (known) {
    kernel.erase();
    return known;
  }
  if (names.size() > 3)
    names.resize(3);
  kernel.setName(names.empty() ? "relayout" : llvm::join(names, "_"));
  symbols.insert(kernel);
  known = kernel;
  return kernel;
}

LogicalResult Outliner::outline(ArrayRef<Operation *> ops) {
  llvm::SetVector<Value> inputs, caches;
  SmallVector<Value> results;
  llvm::SmallPtrSet<Operation *, 8> inGroup(ops.begin(), ops.end());
  auto isInside = [&](Operation *op) { return op && inGroup.contains(op); };
  // A relayout is computed anew by every other group that reads it.
  auto isReadOutside = [&](OpOperand &use) {
    return !isInside(use.getOwner()) &&
           !(isRelayout(use.get().getDefiningOp()) &&
             isOutlined(use.getOwner()));
  };
  for (Operation *op : ops) {
    for (Value operand : op->getOperands()) {
      if (isInside(operand.getDefiningOp()))
        continue;
      auto append = dyn_cast<CacheAppendOp>(op);
      (append && operand == append.getCache() ? caches : inputs)
          .insert(operand);
    }
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUses(), isReadOutside))
        results.push_back(result);
  }

  if (failed(verifyDims(results, isInside)))
    return failure();

  bool flat =
      llvm::all_of(ops, isRowWise) && llvm::all_of(results, [](Value result) {
        return cast<RankedTensorType>(result.getType()).getRank() == 3;
      });
  builder.setInsertionPoint(ops.back());
  SmallVector<Value> passed;
  for (Value input : inputs)
    passed.push_back(flat ? flatten(input) : input);

  FailureOr<KernelOp> kernel = createKernel(
      ops, inputs.getArrayRef(), caches.getArrayRef(), passed, results);
  if (failed(kernel))
    return failure();

  SmallVector<Value> outs;
  size_t nextCache = 0;
  for (auto [result, type] : llvm::zip_equal(results, kernel->getResultTypes()))
    outs.push_back(isa<KvCacheType>(type) ? caches[nextCache++]
                                          : createOut(result, type, flat));
  auto launch = LaunchOp::create(
      builder, ops.back()->getLoc(), TypeRange(ValueRange(outs)),
      kernel->getSymName(), passed, outs,
      chooseTile(ops, kernel->getResultTypes().front()));

  for (auto [result, made] : llvm::zip_equal(results, launch.getResults())) {
    Value value = made;
    if (auto type = dyn_cast<RankedTensorType>(result.getType())) {
      SmallVector<OpFoldResult> sizes;
      for (int64_t dim = 0, rank = type.getRank(); dim != rank; ++dim)
        sizes.push_back(ShapedType::isDynamic(type.getDimSize(dim))
                            ? OpFoldResult(dimOf(result, dim))
                            : builder.getIndexAttr(type.getDimSize(dim)));
      if (flat) {
        SmallVector<ReassociationIndices> rows = {{0, 1}, {2}};
        value = tensor::ExpandShapeOp::create(builder, launch.getLoc(), type,
                                              made, rows, sizes);
      }
      for (auto [dim, size] : llvm::enumerate(sizes))
        if (auto index = dyn_cast<Value>(size))
          dims[{value, dim}] = index;
    }
    result.replaceUsesWithIf(value, isReadOutside);
  }
  return success();
}

namespace {
struct OutlineKernelsPass
    : tfm::impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::StringMap<KernelOp> kernels;
    for (func::FuncOp function :
         llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      if (!llvm::hasSingleElement(function.getBody())) {
        function.emitError("expects a function of one block");
        return signalPassFailure();
      }
      expandNetworks(function);
      Block &block = function.getBody().front();
      SmallVector<SmallVector<Operation *>> groups =
          Grouping(block).takeGroups();
      Outliner outliner(function, kernels, symbols);
      for (ArrayRef<Operation *> ops : groups) {
        if (failed(outliner.outline(ops)))
          return signalPassFailure();
        ++numLaunches;
      }
      eraseOutlined(block);
    }
    numKernels += kernels.size();
  }

  /// A feed-forward network is two kernels: up to its middle, and from there.
  void expandNetworks(func::FuncOp function) {
    for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
      if (auto network = dyn_cast<FfnOp>(op)) {
        OpBuilder builder(network);
        network.replaceAllUsesWith(network.expand(builder));
        network.erase();
      }
  }

  void eraseOutlined(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOutlined(&op))
        op.erase();
  }
};
} // namespace
