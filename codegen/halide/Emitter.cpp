//===- Emitter.cpp - From a kernel's operations to Halide -----------------===//

#include "codegen/halide/Emitter.h"

#include "runtime/include/tfm_abi.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tfm;
using Halide::Expr;
using Halide::Func;
using Halide::ImageParam;
using Halide::TailStrategy;
using Halide::Var;

int tfm::vectorWidth(int64_t size, int widest) {
  int width = widest;
  while (size % width != 0)
    width /= 2;
  return width;
}

std::vector<Var> tfm::makeVars(size_t rank) {
  std::vector<Var> vars;
  for (size_t i = 0; i != rank; ++i)
    vars.emplace_back("x" + std::to_string(i));
  return vars;
}

int tfm::clampWindow(uint64_t window) {
  return static_cast<int>(std::min<uint64_t>(window, 1 << 30));
}

Expr tfm::toFloat(Expr element) {
  if (element.type() == Halide::UInt(16))
    return Halide::reinterpret<float>(Halide::cast<uint32_t>(element) << 16);
  return Halide::cast<float>(element);
}

int tfm::unrolledSteps(int64_t steps, int wanted) {
  while (wanted > 1 && (steps % wanted != 0 || steps == wanted))
    wanted /= 2;
  return wanted;
}

static Halide::Type convertType(Type type) {
  if (type.isF16())
    return Halide::Float(16);
  if (type.isBF16()) // as bits, since Halide would emulate its arithmetic
    return Halide::UInt(16);
  if (type.isInteger(1))
    return Halide::Bool();
  if (type.isInteger())
    return Halide::Int(type.getIntOrFloatBitWidth());
  return Halide::Float(32);
}

KernelEmitter::KernelEmitter(KernelOp kernel, InstructionSet isa, Rows rows)
    : kernel(kernel), target(isa), rows(rows) {}

std::string KernelEmitter::uniqueName(StringRef base) {
  return (base + "_" + Twine(names++)).str();
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

/// A dense row-major buffer. Dimensions that are not known are negative; the
/// strides above the first of them are the caller's.
ImageParam KernelEmitter::createBuffer(Halide::Type type,
                                       const std::vector<int64_t> &extents) {
  ImageParam buffer(type, extents.size(), uniqueName("arg"));
  int64_t stride = 1;
  for (auto [dim, extent] : llvm::enumerate(extents)) {
    if (extent >= 0)
      buffer.dim(dim).set_bounds(0, int(extent));
    else
      buffer.dim(dim).set_min(0);
    if (stride > 0)
      buffer.dim(dim).set_stride(int(stride));
    stride = extent >= 0 ? stride * extent : -1;
  }
  arguments.push_back(buffer);
  return buffer;
}

LogicalResult KernelEmitter::emitArgument(BlockArgument argument) {
  Type type = argument.getType();
  if (type.isIndex()) {
    Halide::Param<int32_t> scalar(uniqueName("arg"));
    arguments.push_back(scalar);
    scalars[argument] = scalar;
    return success();
  }
  if (auto cache = dyn_cast<KvCacheType>(type)) {
    Halide::Type element = convertType(cache.getElementType());
    CacheBuffers buffers;
    buffers.keys = createBuffer(element, {TFM_CACHE_TILE, cache.getKeySize(),
                                          -1, cache.getHeads(), -1});
    buffers.values =
        createBuffer(element, {cache.getValueSize(), -1, cache.getHeads(), -1});
    buffers.lengths = createBuffer(Halide::Int(32), {-1});
    caches[argument] = buffers;
    return success();
  }
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return kernel.emitOpError() << "expects tensors, caches and indices as "
                                   "arguments, but got "
                                << type;
  if (isa<BlockType>(tensor.getElementType()))
    return kernel.emitOpError() << "expects packed weights, but got " << tensor;
  std::vector<int64_t> extents;
  for (int64_t size : llvm::reverse(tensor.getShape()))
    extents.push_back(ShapedType::isDynamic(size) ? -1 : size);
  // The nibbles of packed 4-bit weights are unsigned.
  Halide::Type element = convertType(tensor.getElementType());
  bool isNibbles = llvm::any_of(argument.getUsers(), [](Operation *user) {
    auto unpack = dyn_cast<UnpackOp>(user);
    auto block =
        unpack ? dyn_cast<BlockType>(getElementTypeOrSelf(unpack.getType()))
               : BlockType();
    return block && block.getFormat() != BlockFormat::Q8_0;
  });
  if (isNibbles && element == Halide::Int(8))
    element = Halide::UInt(8);
  ImageParam buffer = createBuffer(element, extents);
  buffers[argument] = buffer;
  std::vector<Expr> sizes;
  for (auto [dim, size] : llvm::enumerate(extents))
    sizes.push_back(size >= 0 ? Expr(int(size)) : buffer.dim(dim).extent());
  set(argument, buffer, sizes);
  return success();
}

/// An output is a function of its own, so that it can be tiled while a sum
/// that it reads lives in registers.
LogicalResult KernelEmitter::emitOutputs() {
  for (Value value : kernel.getYield().getValues()) {
    if (isa<KvCacheType>(value.getType())) {
      auto append = llvm::find_if(appends, [&](const Append &append) {
        return append.result == value;
      });
      if (append == appends.end())
        return kernel.emitOpError("expects caches that it yields to come from "
                                  "cache_append");
      outputs.insert(outputs.end(), {append->keys, append->values});
      continue;
    }
    const Tensor &tensor = get(value);
    Func out(uniqueName("out"));
    std::vector<Var> vars = makeVars(tensor.extents.size());
    out(vars) = tensor.func(vars);
    outputs.push_back(out);
  }
  for (const Func &out : outputs)
    out.output_buffer().dim(0).set_stride(1);
  return success();
}

LogicalResult KernelEmitter::emitOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<AddOp, MulOp, AddVectorOp, ScaleOp, ActivationOp, DropoutOp,
            CausalMaskOp, WindowMaskOp, PaddingMaskOp, MaskAndOp, MaskNotOp,
            AddBiasOp, ApplyMaskOp, EmbedOp, EmbedPositionsOp, RopeOp,
            SplitHeadsOp, MergeHeadsOp, RepeatHeadsOp, TransposeOp, RmsNormOp,
            LayerNormOp, L2NormalizeOp, PoolOp, QuantizeOp, UnpackOp, LinearOp,
            QuantizedLinearOp, ScoresOp, SoftmaxOp, MixOp, AttentionOp,
            CacheAttentionOp, CacheAppendOp>([&](auto op) {
        emit(op);
        return success();
      })
      .Case<YieldOp>([](auto) { return success(); })
      .Default([](Operation *op) {
        return op->emitOpError("has no implementation in kernels");
      });
}

LogicalResult KernelEmitter::emit() {
  Block &body = kernel.getBody().front();
  for (BlockArgument argument : body.getArguments())
    if (failed(emitArgument(argument)))
      return failure();
  for (Operation &op : body)
    if (failed(emitOp(&op)))
      return failure();
  if (lengths)
    arguments.push_back(length);
  return emitOutputs();
}

//===----------------------------------------------------------------------===//
// Choice of the schedule
//===----------------------------------------------------------------------===//

/// Vectors along the innermost dimension; what is read several times is
/// computed as a whole beforehand. This is the tuned schedule of norms and
/// quantization, whose parts are a few short rows, and the fallback for
/// everything else.
void KernelEmitter::scheduleGeneric() {
  constexpr int kVectorBytes = 32;
  auto vectorize = [&](Func f) {
    if (f.dimensions() == 0)
      return;
    int lanes = kVectorBytes / f.type().bytes();
    f.vectorize(f.args()[0], lanes, TailStrategy::GuardWithIf);
    for (int i = 0; i != f.num_update_definitions(); ++i)
      f.update(i).vectorize(f.args()[0], lanes, TailStrategy::GuardWithIf);
  };
  for (const Func &out : outputs)
    if (!out.has_update_definition())
      vectorize(out);
  for (const Intermediate &intermediate : intermediates) {
    Func f = intermediate.func;
    f.compute_root();
    if (intermediate.row)
      f.bound(f.args()[0], 0, intermediate.row);
    if (intermediate.exact)
      f.update().atomic().vectorize(*intermediate.exact);
    else
      vectorize(f);
  }
  for (const IntegerProduct &product : integerProducts)
    vectorize(Func(product.sum).compute_root());
  for (const FloatProduct &product : floatProducts)
    vectorize(Func(product.sum).compute_root());
  for (const AttentionProduct &attention : attentions)
    for (Func f : {attention.score, attention.largest, attention.total,
                   attention.weight, attention.mixed})
      vectorize(f.compute_root());
}

bool KernelEmitter::schedule() {
  Block &body = kernel.getBody().front();
  auto allOf = [&](auto predicate) {
    return llvm::all_of(body, [&](Operation &op) {
      return isa<YieldOp, UnpackOp>(op) || predicate(&op);
    });
  };
  bool isOneOutput = outputs.size() == 1;
  if (isOneOutput && integerProducts.size() + floatProducts.size() > 0 &&
      (integerProducts.empty() || floatProducts.empty()) &&
      outputs.front().dimensions() == 2 &&
      allOf(llvm::IsaPred<LinearOp, QuantizedLinearOp, AddOp, MulOp,
                          AddVectorOp, ScaleOp, ActivationOp>)) {
    scheduleProducts();
    return true;
  }
  if (isOneOutput && attentions.size() == 1 &&
      allOf(llvm::IsaPred<AttentionOp, CacheAttentionOp, RopeOp, SplitHeadsOp,
                          MergeHeadsOp, CausalMaskOp, WindowMaskOp,
                          PaddingMaskOp, MaskAndOp, MaskNotOp>)) {
    scheduleAttention(attentions.front());
    return true;
  }
  if (appends.size() == 1 &&
      allOf(llvm::IsaPred<CacheAppendOp, RopeOp, SplitHeadsOp>)) {
    scheduleAppend();
    return true;
  }
  scheduleGeneric();
  return allOf(llvm::IsaPred<EmbedOp, EmbedPositionsOp, RmsNormOp, LayerNormOp,
                             L2NormalizeOp, PoolOp, QuantizeOp, AddOp, MulOp,
                             AddVectorOp, ScaleOp, ActivationOp>);
}
