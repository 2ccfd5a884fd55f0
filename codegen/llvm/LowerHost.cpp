//===- LowerHost.cpp - From planned IR to the LLVM dialect ----------------===//
//
// Expects planned functions: launches, loads, views and arithmetic on sizes, in
// one block. Promises one `llvm.func` per function, which calls a launcher for
// each launch. Leaves nothing else in the module.
//
//===----------------------------------------------------------------------===//

#include "codegen/llvm/HostBuilder.h"
#include "codegen/llvm/Launcher.h"
#include "codegen/llvm/Passes.h"
#include "dialect/TfmDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "runtime/include/tfm_abi.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::tfm {
#define GEN_PASS_DEF_LOWERHOSTPASS
#include "codegen/llvm/Passes.h.inc"
} // namespace mlir::tfm

using namespace mlir;
using namespace mlir::tfm;

namespace {
/// What a memref became; sizes and strides are in elements, outermost first.
struct Buffer {
  Value pointer;
  SmallVector<Value> sizes, strides;
};

/// Lowers one function.
class HostLowering {
public:
  HostLowering(func::FuncOp function, Launchers &launchers)
      : function(function), launchers(launchers), symbols(getModule()),
        b(function.getContext(), function.getLoc()) {}

  LogicalResult lower();

private:
  ModuleOp getModule() { return function->getParentOfType<ModuleOp>(); }
  void bindArguments();
  LogicalResult lower(Operation &op);
  void lower(LaunchOp op);
  void lower(memref::ViewOp op);
  void lower(memref::SubViewOp op);
  void lower(memref::CollapseShapeOp op);
  void lower(memref::ExpandShapeOp op);
  Value integer(OpFoldResult value);
  Buffer denseBuffer(Value pointer, ArrayRef<Value> sizes);

  func::FuncOp function;
  Launchers &launchers;
  SymbolTable symbols;
  HostBuilder b;
  Value worker, call, weights;
  int64_t launches = 0;
  DenseMap<Value, Buffer> buffers;
  /// What an index, or a cache (its pointer), became.
  DenseMap<Value, Value> scalars;
};
} // namespace

Value HostLowering::integer(OpFoldResult value) {
  if (std::optional<int64_t> known = getConstantIntValue(value))
    return b.constant(*known);
  return scalars.lookup(cast<Value>(value));
}

Buffer HostLowering::denseBuffer(Value pointer, ArrayRef<Value> sizes) {
  Buffer result{pointer, llvm::to_vector(sizes),
                SmallVector<Value>(sizes.size())};
  Value stride = b.constant(1);
  for (size_t i = sizes.size(); i-- != 0;) {
    result.strides[i] = stride;
    if (i != 0)
      stride = b.mul(stride, sizes[i]);
  }
  return result;
}

/// Dimension 0 of an argument is B, dimension 1 is S, where they are not known.
void HostLowering::bindArguments() {
  Value batch = b.load(b.i64, call, offsetof(tfm_call, batch));
  Value length = b.load(b.i64, call, offsetof(tfm_call, length));
  Value arguments = b.load(b.ptr, call, offsetof(tfm_call, arguments));
  weights = b.load(b.ptr, call, offsetof(tfm_call, weights));
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    bool isArena = i + 1 == function.getNumArguments();
    Value pointer = isArena ? b.load(b.ptr, call, offsetof(tfm_call, arena))
                            : b.load(b.ptr, arguments, i * sizeof(void *));
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type) {
      scalars[argument] = pointer;
      continue;
    }
    SmallVector<Value> sizes;
    for (auto [dim, size] : llvm::enumerate(type.getShape()))
      sizes.push_back(!ShapedType::isDynamic(size) ? b.constant(size)
                      : dim == 0                   ? batch
                                                   : length);
    buffers[argument] = denseBuffer(pointer, sizes);
  }
}

void HostLowering::lower(memref::ViewOp op) {
  MemRefType type = op.getType();
  SmallVector<Value> sizes;
  auto dynamic = op.getSizes().begin();
  for (int64_t size : type.getShape())
    sizes.push_back(ShapedType::isDynamic(size) ? scalars.lookup(*dynamic++)
                                                : b.constant(size));
  Value pointer = b.advance(buffers.find(op.getSource())->second.pointer,
                            scalars.lookup(op.getByteShift()));
  buffers[op] = denseBuffer(pointer, sizes);
}

void HostLowering::lower(memref::SubViewOp op) {
  const Buffer &source = buffers.find(op.getSource())->second;
  Buffer result;
  Value elements = b.constant(0);
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (auto [dim, offset, size, stride] : llvm::enumerate(
           op.getMixedOffsets(), op.getMixedSizes(), op.getMixedStrides())) {
    elements = b.add(elements, b.mul(integer(offset), source.strides[dim]));
    if (dropped.test(dim))
      continue;
    result.sizes.push_back(integer(size));
    result.strides.push_back(b.mul(integer(stride), source.strides[dim]));
  }
  int64_t bytes = llvm::divideCeil(op.getType().getElementTypeBitWidth(), 8);
  result.pointer =
      b.advance(source.pointer, b.mul(elements, b.constant(bytes)));
  buffers[op] = result;
}

void HostLowering::lower(memref::CollapseShapeOp op) {
  const Buffer &source = buffers.find(op.getSrc())->second;
  Buffer result{source.pointer, {}, {}};
  for (const ReassociationIndices &group : op.getReassociationIndices()) {
    Value size = source.sizes[group.front()];
    for (int64_t dim : ArrayRef(group).drop_front())
      size = b.mul(size, source.sizes[dim]);
    result.sizes.push_back(size);
    result.strides.push_back(source.strides[group.back()]);
  }
  buffers[op] = result;
}

void HostLowering::lower(memref::ExpandShapeOp op) {
  const Buffer &source = buffers.find(op.getSrc())->second;
  Buffer result{source.pointer, {}, {}};
  for (OpFoldResult size : op.getMixedOutputShape())
    result.sizes.push_back(integer(size));
  result.strides.resize(result.sizes.size());
  for (auto [i, group] : llvm::enumerate(op.getReassociationIndices())) {
    Value stride = source.strides[i];
    for (int64_t dim : llvm::reverse(group)) {
      result.strides[dim] = stride;
      stride = b.mul(stride, result.sizes[dim]);
    }
  }
  buffers[op] = result;
}

void HostLowering::lower(LaunchOp op) {
  SmallVector<Value> arguments = {worker, call, b.constant(launches++)};
  for (Value operand : op.getOperands()) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    if (!type) {
      arguments.push_back(scalars.lookup(operand));
      continue;
    }
    const Buffer &buffer = buffers.find(operand)->second;
    arguments.push_back(buffer.pointer);
    for (auto [size, known] : llvm::zip_equal(buffer.sizes, type.getShape()))
      if (ShapedType::isDynamic(known))
        arguments.push_back(size);
    if (type.getLayout().isIdentity())
      continue;
    auto [strides, offset] = type.getStridesAndOffset();
    for (auto [stride, known] : llvm::zip_equal(buffer.strides, strides))
      if (ShapedType::isDynamic(known))
        arguments.push_back(stride);
  }
  LLVM::CallOp::create(b, b.loc, launchers.get(op), arguments);
  // A cache that was updated in place is still where it was.
  auto updated = op.getResults().begin();
  for (Value out : op.getOuts())
    if (isa<KvCacheType>(out.getType()))
      scalars[*updated++] = scalars.lookup(out);
}

LogicalResult HostLowering::lower(Operation &op) {
  b.loc = op.getLoc();
  auto lowerBinary = [&](auto binary, auto create) {
    scalars[binary.getResult()] = create(scalars.lookup(binary.getLhs()),
                                         scalars.lookup(binary.getRhs()));
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<arith::ConstantOp>([&](auto constant) -> LogicalResult {
        std::optional<int64_t> value =
            getConstantIntValue(constant.getResult());
        if (!value)
          return constant.emitOpError("expects an integer in host code");
        scalars[constant] = b.constant(*value);
        return success();
      })
      .Case<arith::AddIOp>([&](auto op) {
        lowerBinary(op, [&](Value x, Value y) { return b.add(x, y); });
        return success();
      })
      .Case<arith::SubIOp>([&](auto op) {
        lowerBinary(op, [&](Value x, Value y) { return b.sub(x, y); });
        return success();
      })
      .Case<arith::MulIOp>([&](auto op) {
        lowerBinary(op, [&](Value x, Value y) { return b.mul(x, y); });
        return success();
      })
      .Case<memref::DimOp>([&](auto dim) -> LogicalResult {
        std::optional<int64_t> index = dim.getConstantIndex();
        if (!index)
          return dim.emitOpError("expects a known dimension in host code");
        scalars[dim] = buffers.find(dim.getSource())->second.sizes[*index];
        return success();
      })
      .Case<memref::ViewOp, memref::SubViewOp, memref::CollapseShapeOp,
            memref::ExpandShapeOp, LaunchOp>([&](auto op) {
        lower(op);
        return success();
      })
      .Case<LoadOp>([&](auto load) -> LogicalResult {
        auto weight = symbols.lookup<WeightOp>(load.getWeight());
        std::optional<uint64_t> placement = weight.getPlacement();
        if (!placement)
          return load.emitOpError()
                 << "expects @" << load.getWeight() << " to have a placement";
        SmallVector<Value> sizes;
        for (int64_t size : cast<MemRefType>(load.getType()).getShape())
          sizes.push_back(b.constant(size));
        buffers[load] =
            denseBuffer(b.advance(weights, b.constant(*placement)), sizes);
        return success();
      })
      .Case<CacheLengthsOp>([&](auto op) {
        Value cache = scalars.lookup(op.getCache());
        buffers[op] =
            denseBuffer(b.load(b.ptr, cache, offsetof(tfm_cache, lengths)),
                        {b.load(b.i64, call, offsetof(tfm_call, batch))});
        return success();
      })
      .Case<CacheAdvanceOp>([&](auto op) {
        Value cache = scalars.lookup(op.getCache());
        LLVM::CallOp::create(b, b.loc, launchers.getAdvance(),
                             ValueRange{worker, call, b.constant(launches++),
                                        cache, scalars.lookup(op.getCount())});
        scalars[op] = cache;
        return success();
      })
      .Case<func::ReturnOp>([&](auto) {
        LLVM::ReturnOp::create(b, b.loc, b.constant32(0));
        return success();
      })
      .Default([](Operation *op) {
        return op->emitOpError("has no form in host code");
      });
}

LogicalResult HostLowering::lower() {
  b.setInsertionPoint(function);
  auto lowered = LLVM::LLVMFuncOp::create(
      b, b.loc, function.getSymName(),
      LLVM::LLVMFunctionType::get(b.i32, {b.ptr, b.ptr}));
  // The descriptor alone refers to it, whatever its name is.
  lowered.setLinkage(LLVM::Linkage::Internal);
  Block *entry = lowered.addEntryBlock(b);
  worker = entry->getArgument(0);
  call = entry->getArgument(1);
  b.setInsertionPointToStart(entry);
  bindArguments();
  for (Operation &op : function.getBody().front())
    if (failed(lower(op)))
      return failure();
  function.erase();
  return success();
}

namespace {
struct LowerHostPass : tfm::impl::LowerHostPassBase<LowerHostPass> {
  using Base::Base;

  void runOnOperation() override {
    Launchers launchers(getOperation());
    for (func::FuncOp function :
         llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (failed(HostLowering(function, launchers).lower()))
        return signalPassFailure();
    for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody()))
      if (isa<KernelOp, WeightOp, ResourceOp>(op))
        op.erase();
    numLaunchers += launchers.size();
  }
};
} // namespace
