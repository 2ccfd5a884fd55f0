//===- InsertKvCache.cpp - @forward becomes @prefill, @decode, @score -----===//
//
// Expects a decoder's @forward with fused attention. Promises that each new
// function, given the positions that the cache holds, computes the rows that
// @forward would compute after them. Leaves alone what Passes.td lists.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "passes/Passes.h"

namespace mlir::tfm {
#define GEN_PASS_DEF_INSERTKVCACHEPASS
#include "passes/Passes.h.inc"
} // namespace mlir::tfm

using namespace mlir;
using namespace mlir::tfm;

/// What becomes of @forward.
static constexpr StringLiteral kPrefill = "prefill", kDecode = "decode",
                               kScore = "score";

/// Operations whose result row (b, s) depends on the rows (b, s) of their
/// operands alone. `attention` is treated apart.
static bool isPositionWise(Operation *op) {
  if (auto load = dyn_cast<LoadOp>(op)) // a table of rows has positions
    return cast<RankedTensorType>(load.getType()).getRank() <= 2;
  return isa<EmbedOp, EmbedPositionsOp, RopeOp, SplitHeadsOp, MergeHeadsOp,
             RepeatHeadsOp, DropoutOp, ScaleOp, RmsNormOp, LayerNormOp,
             L2NormalizeOp, LinearOp, ActivationOp, AddOp, MulOp, AddVectorOp,
             FfnOp, func::ReturnOp>(op);
}

/// Where an operation on positions says at which ones the samples start.
static std::optional<MutableOperandRange> getOffsets(Operation *op) {
  if (auto rope = dyn_cast<RopeOp>(op))
    return rope.getOffsetsMutable();
  if (auto embed = dyn_cast<EmbedPositionsOp>(op))
    return embed.getOffsetsMutable();
  return std::nullopt;
}

static bool isTensor(Type type, int64_t rank, Type element) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == rank &&
         tensor.getElementType() == element;
}

/// The criterion of Passes.td. Returns the type of the cache, or reports at the
/// function why it gets none.
static FailureOr<KvCacheType> getCacheType(func::FuncOp forward,
                                           Type elementType) {
  auto decline = [&](Operation *op, const Twine &reason) {
    InFlightDiagnostic remark = forward.emitRemark("no key/value cache: ")
                                << reason;
    if (op != forward)
      remark.attachNote(op->getLoc()) << "see here";
    return failure();
  };
  auto module = forward->getParentOfType<ModuleOp>();
  for (StringRef name : {kPrefill, kDecode, kScore})
    if (Operation *other = SymbolTable::lookupSymbolIn(module, name))
      return decline(other, "there is a @" + name + " already");
  if (!SymbolTable::symbolKnownUseEmpty(forward, module))
    return decline(forward, "@forward is used by others");
  if (!llvm::hasSingleElement(forward.getBody()))
    return decline(forward, "expects one block");

  Builder builder(forward.getContext());
  FunctionType type = forward.getFunctionType();
  if (type.getNumInputs() != 1 ||
      !isTensor(type.getInput(0), 2, builder.getI32Type()) ||
      !cast<RankedTensorType>(type.getInput(0)).isDynamicDim(1))
    return decline(forward, "expects tokens [B, S] of any S as the only input");
  if (type.getNumResults() != 1 ||
      !isTensor(type.getResult(0), 3, builder.getF32Type()) ||
      cast<RankedTensorType>(type.getResult(0)).isDynamicDim(2))
    return decline(forward,
                   "expects logits [B, S, V] of a known V as the only result");

  SmallVector<AttentionOp> attentions;
  for (Operation &op : forward.getBody().front()) {
    std::optional<MutableOperandRange> offsets = getOffsets(&op);
    if (offsets && !offsets->empty())
      return decline(&op, "expects positions that start at 0");
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      attentions.push_back(attention);
      continue;
    }
    if (!isPositionWise(&op))
      return decline(&op, "expects work on each position for itself, but got " +
                              op.getName().getStringRef());
  }
  if (attentions.empty())
    return decline(forward, "there is no attention");

  auto cacheTypeOf = [&](AttentionOp op) {
    ArrayRef<int64_t> key = op.getKey().getType().getShape();
    ArrayRef<int64_t> value = op.getValue().getType().getShape();
    return std::array<int64_t, 3>{key[1], key[3], value[3]};
  };
  std::array<int64_t, 3> sizes = cacheTypeOf(attentions.front());
  for (AttentionOp op : attentions) {
    if (!op.getCausal() || op.getMask() || op.getBias())
      return decline(op, "expects causal attention without a mask or a bias");
    if (cacheTypeOf(op) != sizes || llvm::any_of(sizes, ShapedType::isDynamic))
      return decline(op, "expects known and equal heads and head sizes in all "
                         "layers");
  }
  return KvCacheType::get(forward.getContext(), attentions.size(), sizes[0],
                          sizes[1], sizes[2], elementType);
}

/// Threads a cache through a copy of @forward.
static void addCache(func::FuncOp function, KvCacheType cacheType) {
  Block &body = function.getBody().front();
  Location loc = function.getLoc();
  auto builder = OpBuilder::atBlockBegin(&body);
  Value cache = body.addArgument(cacheType, loc);
  Value lengths = CacheLengthsOp::create(
      builder, loc,
      RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type()),
      cache);

  int64_t layer = 0;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (std::optional<MutableOperandRange> offsets = getOffsets(&op))
      offsets->assign(lengths);
    auto attention = dyn_cast<AttentionOp>(op);
    if (!attention)
      continue;
    builder.setInsertionPoint(attention);
    Value index =
        arith::ConstantIndexOp::create(builder, attention.getLoc(), layer++);
    cache =
        CacheAppendOp::create(builder, attention.getLoc(), attention.getKey(),
                              attention.getValue(), cache, index);
    auto cached = CacheAttentionOp::create(
        builder, attention.getLoc(), attention.getType(), attention.getQuery(),
        cache, index, attention.getScaleAttr(), attention.getWindowAttr());
    attention.replaceAllUsesWith(cached.getResult());
    attention.erase();
  }

  auto terminator = cast<func::ReturnOp>(body.getTerminator());
  builder.setInsertionPoint(terminator);
  Value count = tensor::DimOp::create(builder, loc, body.getArgument(0), 1);
  cache = CacheAdvanceOp::create(builder, loc, cache, count);
  terminator.getOperandsMutable().append(cache);
}

/// Makes the function return the last row of each sample, and compute no other
/// row where nothing else needs it.
static void keepLastRow(func::FuncOp function) {
  Block &body = function.getBody().front();
  auto terminator = cast<func::ReturnOp>(body.getTerminator());

  // The last row can be taken before operations on one position at a time.
  SmallVector<Operation *> tail;
  Value rows = terminator.getOperand(0);
  while (Operation *op = rows.getDefiningOp()) {
    if (!isa<LinearOp, RmsNormOp, LayerNormOp, ActivationOp, AddVectorOp,
             ScaleOp>(op) ||
        !rows.hasOneUse())
      break;
    tail.push_back(op);
    rows = op->getOperand(0);
  }

  OpBuilder builder(tail.empty() ? terminator.getOperation() : tail.back());
  Location loc = function.getLoc();
  auto type = cast<RankedTensorType>(rows.getType());
  Value batch = tensor::DimOp::create(builder, loc, body.getArgument(0), 0);
  Value length = tensor::DimOp::create(builder, loc, body.getArgument(0), 1);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value last = arith::SubIOp::create(builder, loc, length, one);
  OpFoldResult zero = builder.getIndexAttr(0), unit = builder.getIndexAttr(1);
  Value row = tensor::ExtractSliceOp::create(
      builder, loc,
      RankedTensorType::get({type.getDimSize(0), type.getDimSize(2)},
                            type.getElementType()),
      rows, ArrayRef<OpFoldResult>{zero, last, zero},
      ArrayRef<OpFoldResult>{batch, unit,
                             builder.getIndexAttr(type.getDimSize(2))},
      ArrayRef<OpFoldResult>{unit, unit, unit});

  for (Operation *op : llvm::reverse(tail)) {
    op->setOperand(0, row);
    row = op->getResult(0);
    row.setType(
        cast<RankedTensorType>(op->getOperand(0).getType())
            .clone({type.getDimSize(0),
                    cast<RankedTensorType>(row.getType()).getShape().back()}));
  }
  terminator.setOperand(0, row);
}

namespace {
struct InsertKvCachePass : tfm::impl::InsertKvCachePassBase<InsertKvCachePass> {
  using Base::Base;

  void runOnOperation() override {
    auto forward = getOperation().lookupSymbol<func::FuncOp>("forward");
    if (!forward)
      return;
    if (element != "f16" && element != "f32") {
      forward.emitError("expects element f16 or f32, but got ") << element;
      return signalPassFailure();
    }
    Type elementType = element == "f16" ? Type(Float16Type::get(&getContext()))
                                        : Float32Type::get(&getContext());
    FailureOr<KvCacheType> cacheType = getCacheType(forward, elementType);
    if (failed(cacheType))
      return;
    createEntryPoint(forward, kPrefill, *cacheType, /*lastRow=*/true);
    createEntryPoint(forward, kDecode, *cacheType, /*lastRow=*/true);
    createEntryPoint(forward, kScore, *cacheType, /*lastRow=*/false);
    numCached += cacheType->getLayers();
    forward.erase();
  }

  void createEntryPoint(func::FuncOp forward, StringRef name,
                        KvCacheType cacheType, bool lastRow) {
    OpBuilder builder(forward);
    auto function = cast<func::FuncOp>(builder.clone(*forward));
    function.setName(name);
    addCache(function, cacheType);
    if (lastRow)
      keepLastRow(function);
    Operation *terminator = function.getBody().front().getTerminator();
    ArrayAttr resultAttrs = function.getResAttrsAttr();
    ArrayAttr argumentAttrs = function.getArgAttrsAttr();
    function.setType(
        builder.getFunctionType(function.getBody().front().getArgumentTypes(),
                                terminator->getOperandTypes()));
    nameLast(function, builder, argumentAttrs, resultAttrs);
  }

  /// Names the cache, which has been added to the arguments and results.
  void nameLast(func::FuncOp function, Builder &builder,
                ArrayAttr argumentAttrs, ArrayAttr resultAttrs) {
    auto extend = [&](ArrayAttr attrs) {
      SmallVector<Attribute> all;
      if (attrs)
        all.append(attrs.begin(), attrs.end());
      else
        all.push_back(builder.getDictionaryAttr({}));
      all.push_back(builder.getDictionaryAttr(
          builder.getNamedAttr("tfm.name", builder.getStringAttr("cache"))));
      return builder.getArrayAttr(all);
    };
    function.setArgAttrsAttr(extend(argumentAttrs));
    function.setResAttrsAttr(extend(resultAttrs));
  }
};
} // namespace
