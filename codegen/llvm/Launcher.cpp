//===- Launcher.cpp - Calls a kernel for its tiles ------------------------===//
//
// Layouts of `tfm_call` and `tfm_cache` are those of tfm_abi.h, buffer
// descriptors those of Halide's HalideRuntime.h (`halide_buffer_t`,
// `halide_dimension_t`). A kernel's arguments are context, inputs in order,
// outputs; a cache counts as its keys, values and lengths, those of the layer
// that the launch names.
//
//===----------------------------------------------------------------------===//

#include "codegen/llvm/Launcher.h"

#include "codegen/llvm/HostBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "runtime/include/tfm_abi.h"

using namespace mlir;
using namespace mlir::tfm;

namespace {
/// The fields of `halide_buffer_t` that are written, and its size.
enum HalideBuffer {
  kHost = 16,
  kType = 32,
  kRank = 36,
  kDims = 40,
  kSize = 56
};
/// Those of `halide_dimension_t`.
enum HalideDim {
  kMin = 0,
  kExtent = 4,
  kStride = 8,
  kFlags = 12,
  kDimSize = 16
};
constexpr int64_t kMaxRank = 6;
/// `halide_type_code_t`.
enum HalideCode { kInt = 0, kUInt = 1, kFloat = 2, kBFloat = 4 };

/// A buffer as a kernel gets it: outermost dimension first, in elements.
struct Descriptor {
  Value host;
  Type element;
  SmallVector<Value> sizes, strides;
};

/// An output, cut along its dimensions `tiled`, one per dimension of the tile.
struct Output {
  Descriptor descriptor;
  Value memory;
  SmallVector<int64_t> tiled;
};

/// The body of one launcher.
struct LauncherBody {
  LauncherBody(HostBuilder &b, Block *entry, LaunchOp launch, KernelOp kernel)
      : b(b), entry(entry), launch(launch), kernel(kernel) {}

  void readArguments();
  Value describe(const Descriptor &descriptor);
  void crop(const Output &output, ArrayRef<Value> starts,
            ArrayRef<Value> extents);

  HostBuilder &b;
  Block *entry;
  LaunchOp launch;
  KernelOp kernel;
  Value call;
  SmallVector<Value> passed; ///< to the kernel, after the context
  SmallVector<Output> outputs;

private:
  Descriptor readBuffer(MemRefType type);
  std::array<Descriptor, 3> readCache(Value pointer, KvCacheType type,
                                      Value layer);
  unsigned layerOf(BlockArgument cache);
  Value next() { return entry->getArgument(nextParameter++); }

  unsigned nextParameter = 3;
};
} // namespace

static int64_t bytesOf(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

/// `halide_type_t` as one integer: code, bits, lanes.
static int64_t halideType(Type element) {
  int64_t code = isa<BFloat16Type>(element) ? kBFloat
                 : isa<FloatType>(element)  ? kFloat
                 : element.isInteger(1)     ? kUInt
                                            : kInt;
  return code | element.getIntOrFloatBitWidth() << 8 | 1 << 16;
}

Value LauncherBody::describe(const Descriptor &descriptor) {
  int64_t rank = descriptor.sizes.size();
  Value buffer = LLVM::AllocaOp::create(b, b.loc, b.ptr, b.getI8Type(),
                                        b.constant(kSize + kMaxRank * kDimSize),
                                        /*alignment=*/16);
  Value dims = b.advance(buffer, kSize + 8);
  Value zero = b.constant(0);
  for (int64_t offset = 0; offset != kSize; offset += 8)
    b.store(zero, buffer, offset);
  b.store(descriptor.host, buffer, kHost);
  b.store(b.constant32(halideType(descriptor.element)), buffer, kType);
  b.store(b.constant32(rank), buffer, kRank);
  b.store(dims, buffer, kDims);
  for (int64_t i = 0; i != rank; ++i) {
    int64_t at = kSize + 8 + i * kDimSize;
    b.store(b.constant32(0), buffer, at + kMin);
    b.store(b.to32(descriptor.sizes[rank - 1 - i]), buffer, at + kExtent);
    b.store(b.to32(descriptor.strides[rank - 1 - i]), buffer, at + kStride);
    b.store(b.constant32(0), buffer, at + kFlags);
  }
  return buffer;
}

void LauncherBody::crop(const Output &output, ArrayRef<Value> starts,
                        ArrayRef<Value> extents) {
  const Descriptor &whole = output.descriptor;
  int64_t rank = whole.sizes.size();
  Value elements = b.constant(0);
  for (auto [dim, start, extent] :
       llvm::zip_equal(output.tiled, starts, extents)) {
    int64_t at = kSize + 8 + (rank - 1 - dim) * kDimSize;
    b.store(b.to32(start), output.memory, at + kMin);
    b.store(b.to32(extent), output.memory, at + kExtent);
    elements = b.add(elements, b.mul(start, whole.strides[dim]));
  }
  Value bytes = b.mul(elements, b.constant(bytesOf(whole.element)));
  b.store(b.advance(whole.host, bytes), output.memory, kHost);
}

Descriptor LauncherBody::readBuffer(MemRefType type) {
  Descriptor result{next(), type.getElementType(), {}, {}};
  for (int64_t size : type.getShape())
    result.sizes.push_back(ShapedType::isDynamic(size) ? next()
                                                       : b.constant(size));
  result.strides.resize(result.sizes.size());
  if (type.getLayout().isIdentity()) {
    Value stride = b.constant(1);
    for (size_t i = result.sizes.size(); i-- != 0;) {
      result.strides[i] = stride;
      if (i != 0)
        stride = b.mul(stride, result.sizes[i]);
    }
    return result;
  }
  auto [strides, offset] = type.getStridesAndOffset();
  for (auto [value, stride] : llvm::zip_equal(result.strides, strides))
    value = ShapedType::isDynamic(stride) ? next() : b.constant(stride);
  return result;
}

/// Which argument of the kernel names the layer of a cache.
unsigned LauncherBody::layerOf(BlockArgument cache) {
  for (Operation *user : cache.getUsers()) {
    Value layer;
    if (auto append = dyn_cast<CacheAppendOp>(user))
      layer = append.getLayer();
    else if (auto attention = dyn_cast<CacheAttentionOp>(user))
      layer = attention.getLayer();
    if (auto argument = dyn_cast_if_present<BlockArgument>(layer))
      return argument.getArgNumber();
  }
  llvm_unreachable("a kernel's cache is read at a layer that it is passed");
}

std::array<Descriptor, 3>
LauncherBody::readCache(Value pointer, KvCacheType type, Value layer) {
  Type element = type.getElementType();
  Value batch = b.load(b.i64, call, offsetof(tfm_call, batch));
  Value capacity = b.load(b.i64, pointer, offsetof(tfm_cache, capacity));
  Value context = b.load(b.i64, pointer, offsetof(tfm_cache, context));
  Value heads = b.constant(type.getHeads()), one = b.constant(1);
  auto readPart = [&](size_t field, int64_t headSize) {
    Descriptor part{b.load(b.ptr, pointer, field), element, {}, {}};
    Value perHead = b.mul(context, b.constant(headSize));
    Value perSample = b.mul(heads, perHead);
    Value bytes = b.mul(b.mul(layer, b.mul(capacity, perSample)),
                        b.constant(bytesOf(element)));
    part.host = b.advance(part.host, bytes);
    part.sizes = {batch, heads};
    part.strides = {perSample, perHead};
    return part;
  };
  Descriptor keys = readPart(offsetof(tfm_cache, keys), type.getKeySize());
  Value tile = b.constant(TFM_CACHE_TILE);
  keys.sizes.append(
      {b.div(context, tile), b.constant(type.getKeySize()), tile});
  keys.strides.append(
      {b.constant(TFM_CACHE_TILE * type.getKeySize()), tile, one});
  Descriptor values =
      readPart(offsetof(tfm_cache, values), type.getValueSize());
  Value valueSize = b.constant(type.getValueSize());
  values.sizes.append({context, valueSize});
  values.strides.append({valueSize, one});
  Descriptor lengths{b.load(b.ptr, pointer, offsetof(tfm_cache, lengths)),
                     b.getI32Type(),
                     {batch},
                     {one}};
  return {keys, values, lengths};
}

void LauncherBody::readArguments() {
  Block &body = kernel.getBody().front();
  SmallVector<Value> indices(launch.getInputs().size());
  SmallVector<std::pair<BlockArgument, Value>> caches;
  SmallVector<SmallVector<Value>> perInput(launch.getInputs().size());

  for (auto [i, input] : llvm::enumerate(launch.getInputs())) {
    if (auto type = dyn_cast<MemRefType>(input.getType())) {
      perInput[i] = {describe(readBuffer(type))};
    } else if (isa<KvCacheType>(input.getType())) {
      caches.push_back({body.getArgument(i), next()});
    } else {
      indices[i] = next();
      perInput[i] = {b.to32(indices[i])};
    }
  }
  for (auto [argument, pointer] : caches)
    for (const Descriptor &part :
         readCache(pointer, cast<KvCacheType>(argument.getType()),
                   indices[layerOf(argument)]))
      perInput[argument.getArgNumber()].push_back(describe(part));
  for (ArrayRef<Value> values : perInput)
    llvm::append_range(passed, values);

  int64_t tiled = launch.getTile().size();
  unsigned updated = launch.getInputs().size();
  auto leading = llvm::to_vector(llvm::seq<int64_t>(0, tiled));
  for (Value out : launch.getOuts()) {
    if (auto type = dyn_cast<MemRefType>(out.getType())) {
      Descriptor descriptor = readBuffer(type);
      outputs.push_back({descriptor, describe(descriptor), leading});
      continue;
    }
    BlockArgument argument = body.getArgument(updated++);
    auto parts = readCache(next(), cast<KvCacheType>(out.getType()),
                           indices[layerOf(argument)]);
    for (const Descriptor &part : parts)
      passed.push_back(describe(part));
    for (const Descriptor &part : {parts[0], parts[1]})
      outputs.push_back({part, describe(part), leading});
  }
  for (const Output &output : outputs)
    passed.push_back(output.memory);
}

//===----------------------------------------------------------------------===//
// Launchers
//===----------------------------------------------------------------------===//

Launchers::Launchers(ModuleOp module) : module(module), symbols(module) {
  MLIRContext *context = module.getContext();
  Type ptr = LLVM::LLVMPointerType::get(context);
  Type i32 = IntegerType::get(context, 32), i64 = IntegerType::get(context, 64);
  Type none = LLVM::LLVMVoidType::get(context);
  nextTile = declare("tfm_next_tile", i32, {ptr, i64, i32});
  fail = declare("tfm_fail", none, {ptr, i32});
  kernelContext = declare("tfm_kernel_context", ptr, {ptr});
  for (auto [index, kernel] : llvm::enumerate(module.getOps<KernelOp>()))
    kernelIndices[kernel.getSymName()] = index;
}

LLVM::LLVMFuncOp Launchers::declare(StringRef name, Type result,
                                    ArrayRef<Type> parameters) {
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  return LLVM::LLVMFuncOp::create(
      builder, module.getLoc(), name,
      LLVM::LLVMFunctionType::get(result, parameters));
}

LLVM::LLVMFuncOp Launchers::get(LaunchOp launch) {
  std::string key;
  llvm::raw_string_ostream(key)
      << launch.getKernel() << launch.getInputs().getTypes()
      << launch.getOuts().getTypes() << launch.getTileAttr();
  LLVM::LLVMFuncOp &launcher = launchers[key];
  if (!launcher)
    launcher = build(launch, ("launch." + launch.getKernel() + "." +
                              Twine(launchers.size() - 1))
                                 .str());
  return launcher;
}

/// The parameters that stand for one operand, see `Launchers::get`.
static void appendParameters(Type operand, HostBuilder &b,
                             SmallVectorImpl<Type> &parameters) {
  auto type = dyn_cast<MemRefType>(operand);
  parameters.push_back(operand.isIndex() ? b.i64 : b.ptr);
  if (!type)
    return;
  parameters.append(type.getNumDynamicDims(), b.i64);
  if (type.getLayout().isIdentity())
    return;
  auto [strides, offset] = type.getStridesAndOffset();
  parameters.append(llvm::count_if(strides, ShapedType::isDynamic), b.i64);
}

LLVM::LLVMFuncOp Launchers::build(LaunchOp launch, StringRef name) {
  HostBuilder b(module.getContext(), launch.getLoc());
  SmallVector<Type> parameters = {b.ptr, b.ptr, b.i64};
  for (Value operand : launch.getOperands())
    appendParameters(operand.getType(), b, parameters);
  auto function =
      declare(name, LLVM::LLVMVoidType::get(b.getContext()), parameters);
  function.setLinkage(LLVM::Linkage::Internal);

  Block *entry = function.addEntryBlock(b);
  Region &region = function.getBody();
  Block *loop = b.createBlock(&region), *tile = b.createBlock(&region),
        *failed = b.createBlock(&region), *exit = b.createBlock(&region);
  Value worker = entry->getArgument(0), number = entry->getArgument(2);

  b.setInsertionPointToStart(entry);
  LauncherBody body(b, entry, launch,
                    symbols.lookup<KernelOp>(launch.getKernel()));
  body.call = entry->getArgument(1);
  body.readArguments();
  Value context =
      LLVM::CallOp::create(b, b.loc, kernelContext, worker).getResult();
  Value table = b.load(b.ptr, body.call, offsetof(tfm_call, kernels));
  Value kernel = b.load(
      b.ptr, table, kernelIndices.lookup(launch.getKernel()) * sizeof(void *));
  // Tiles are counted along the first output.
  const Output &first = body.outputs.front();
  SmallVector<Value> counts, sizes;
  Value total = b.constant(1);
  for (auto [dim, size] : llvm::zip_equal(first.tiled, launch.getTile())) {
    Value whole = first.descriptor.sizes[dim];
    sizes.push_back(size == 0 ? whole : b.constant(size));
    counts.push_back(size == 0 ? b.constant(1)
                               : b.div(b.add(whole, b.constant(size - 1)),
                                       b.constant(size)));
    total = b.mul(total, counts.back());
  }
  Value total32 = b.to32(total);
  LLVM::BrOp::create(b, b.loc, loop);

  b.setInsertionPointToStart(loop);
  Value claimed = LLVM::CallOp::create(b, b.loc, nextTile,
                                       ValueRange{worker, number, total32})
                      .getResult();
  Value isOver = LLVM::ICmpOp::create(b, b.loc, LLVM::ICmpPredicate::slt,
                                      claimed, b.constant32(0));
  LLVM::CondBrOp::create(b, b.loc, isOver, exit, tile);

  b.setInsertionPointToStart(tile);
  // The last dimension of the tile counts fastest.
  Value rest = b.to64(claimed);
  SmallVector<Value> starts(sizes.size()), extents(sizes.size());
  for (size_t i = sizes.size(); i-- != 0;) {
    starts[i] = b.mul(b.rem(rest, counts[i]), sizes[i]);
    extents[i] = b.min(
        sizes[i], b.sub(first.descriptor.sizes[first.tiled[i]], starts[i]));
    rest = b.div(rest, counts[i]);
  }
  for (const Output &output : body.outputs)
    body.crop(output, starts, extents);
  SmallVector<Value> arguments = {kernel, context};
  llvm::append_range(arguments, body.passed);
  SmallVector<Type> argumentTypes(
      TypeRange(ValueRange(arguments).drop_front()));
  Value error = LLVM::CallOp::create(
                    b, b.loc, LLVM::LLVMFunctionType::get(b.i32, argumentTypes),
                    arguments)
                    .getResult();
  Value isError = LLVM::ICmpOp::create(b, b.loc, LLVM::ICmpPredicate::ne, error,
                                       b.constant32(0));
  LLVM::CondBrOp::create(b, b.loc, isError, failed, loop);

  b.setInsertionPointToStart(failed);
  LLVM::CallOp::create(b, b.loc, fail, ValueRange{worker, error});
  LLVM::BrOp::create(b, b.loc, loop);

  b.setInsertionPointToStart(exit);
  LLVM::ReturnOp::create(b, b.loc, ValueRange());
  return function;
}

LLVM::LLVMFuncOp Launchers::getAdvance() {
  if (advance)
    return advance;
  HostBuilder b(module.getContext(), module.getLoc());
  advance = declare("advance", LLVM::LLVMVoidType::get(b.getContext()),
                    {b.ptr, b.ptr, b.i64, b.ptr, b.i64});
  advance.setLinkage(LLVM::Linkage::Internal);
  Block *entry = advance.addEntryBlock(b);
  Region &region = advance.getBody();
  Block *claim = b.createBlock(&region), *loop = b.createBlock(&region),
        *step = b.createBlock(&region), *exit = b.createBlock(&region);
  loop->addArgument(b.i64, b.loc);
  Value sample = loop->getArgument(0);

  b.setInsertionPointToStart(entry);
  Value call = entry->getArgument(1), cache = entry->getArgument(3);
  Value batch = b.load(b.i64, call, offsetof(tfm_call, batch));
  Value lengths = b.load(b.ptr, cache, offsetof(tfm_cache, lengths));
  Value count = b.to32(entry->getArgument(4));
  LLVM::BrOp::create(b, b.loc, claim);

  // One tile: a worker alone counts.
  b.setInsertionPointToStart(claim);
  Value claimed =
      LLVM::CallOp::create(b, b.loc, nextTile,
                           ValueRange{entry->getArgument(0),
                                      entry->getArgument(2), b.constant32(1)})
          .getResult();
  Value isOver = LLVM::ICmpOp::create(b, b.loc, LLVM::ICmpPredicate::slt,
                                      claimed, b.constant32(0));
  LLVM::CondBrOp::create(b, b.loc, isOver, exit, ValueRange(), loop,
                         ValueRange{b.constant(0)});

  b.setInsertionPointToStart(loop);
  Value isInside =
      LLVM::ICmpOp::create(b, b.loc, LLVM::ICmpPredicate::slt, sample, batch);
  LLVM::CondBrOp::create(b, b.loc, isInside, step, claim);

  b.setInsertionPointToStart(step);
  Value at = b.advance(lengths, b.mul(sample, b.constant(4)));
  b.store(b.add(b.load(b.i32, at, 0), count), at, 0);
  LLVM::BrOp::create(b, b.loc, ValueRange{b.add(sample, b.constant(1))}, loop);

  b.setInsertionPointToStart(exit);
  LLVM::ReturnOp::create(b, b.loc, ValueRange());
  return advance;
}
