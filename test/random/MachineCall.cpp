//===- MachineCall.cpp - Machine code called like the interpreter ---------===//

#include "test/random/MachineCall.h"

#include "dialect/interp/Blocks.h"
#include "runtime/include/tfm_abi.h"
#include "test/random/Compare.h"
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace mlir::tfm;

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static std::shared_ptr<Cache> copyCache(const Cache &cache) {
  auto copy = std::make_shared<Cache>(cache);
  copy->lengths = copyOf(cache.lengths);
  return copy;
}

SmallVector<RuntimeValue> tfm::copyOf(ArrayRef<RuntimeValue> values) {
  return llvm::map_to_vector(values, [](const RuntimeValue &value) {
    if (auto *array = std::get_if<Array>(&value))
      return RuntimeValue(copyOf(*array));
    if (auto *cache = std::get_if<std::shared_ptr<Cache>>(&value))
      return RuntimeValue(copyCache(**cache));
    return value;
  });
}

SmallVector<Array> tfm::elementsOf(const Cache &cache) {
  SmallVector<Array> arrays;
  for (const std::vector<float> *elements : {&cache.keys, &cache.values}) {
    arrays.push_back(Array::zeros(Float32Type::get(cache.type.getContext()),
                                  static_cast<int64_t>(elements->size())));
    llvm::copy(*elements, arrays.back().floats().begin());
  }
  return arrays;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Memory::Memory(size_t bytes) {
  size_t page = getpagesize();
  total = (bytes + page - 1) / page * page + page;
  start = static_cast<char *>(mmap(nullptr, total, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(start + total - page, page, PROT_NONE);
  data = start + total - page - bytes;
}

Memory::~Memory() {
  if (start)
    munmap(start, total);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

MachineCall::Buffer MachineCall::makeBuffer(Type elementType,
                                            ArrayRef<int64_t> shape) {
  Array layout = Array::wrap(elementType, shape, nullptr);
  Buffer buffer = {Memory(layout.bytes()), elementType,
                   std::vector<int>(shape.begin(), shape.end()),
                   static_cast<size_t>(layout.elementBytes())};
  // What nobody writes shows.
  std::memset(buffer.memory.get(), 0xff, layout.bytes());
  return buffer;
}

void MachineCall::addInput(const Array &array) {
  Buffer buffer = makeBuffer(array.elementType, array.shape);
  Array::wrap(
      array.elementType, array.shape,
      std::shared_ptr<char>(std::shared_ptr<char>(), buffer.memory.get()))
      .copyFrom(array);
  inputs.push_back(buffer.describe());
  buffers.push_back(std::move(buffer));
}

/// Copies one layer of a cache to or from the buffers of keys and values.
void MachineCall::copyCache(Cache &cache, int64_t layer, bool toBuffers) {
  Buffer &keys = buffers[cacheBuffers], &values = buffers[cacheBuffers + 1];
  bool isHalf = cache.type.getElementType().isF16();
  auto copy = [&](Buffer &buffer, int64_t index, float &element) {
    char *place = buffer.memory.get() + index * (isHalf ? 2 : 4);
    if (toBuffers && isHalf)
      writeF16(place, element);
    else if (toBuffers)
      std::memcpy(place, &element, 4);
    else if (isHalf)
      element = readF16(place);
    else
      std::memcpy(&element, place, 4);
  };
  int64_t heads = cache.type.getHeads(), context = values.shape[2],
          keySize = cache.type.getKeySize(),
          valueSize = cache.type.getValueSize();
  for (int64_t b = 0; b != cache.batch(); ++b)
    for (int64_t g = 0; g != heads; ++g)
      for (int64_t t = 0; t != cache.context; ++t) {
        int64_t head = b * heads + g;
        int64_t tile = head * (context / TFM_CACHE_TILE) + t / TFM_CACHE_TILE;
        for (int64_t d = 0; d != keySize; ++d)
          copy(keys, (tile * keySize + d) * TFM_CACHE_TILE + t % TFM_CACHE_TILE,
               cache.key(layer, b, g, t)[d]);
        for (int64_t d = 0; d != valueSize; ++d)
          copy(values, (head * context + t) * valueSize + d,
               cache.value(layer, b, g, t)[d]);
      }
}

void MachineCall::addCache(const Cache &cache, int64_t layer) {
  KvCacheType type = cache.type;
  int64_t tiles = (cache.context + TFM_CACHE_TILE - 1) / TFM_CACHE_TILE;
  cacheBuffers = buffers.size();
  buffers.push_back(
      makeBuffer(type.getElementType(), {cache.batch(), type.getHeads(), tiles,
                                         type.getKeySize(), TFM_CACHE_TILE}));
  buffers.push_back(makeBuffer(type.getElementType(),
                               {cache.batch(), type.getHeads(),
                                tiles * TFM_CACHE_TILE, type.getValueSize()}));
  // Positions that nobody sees hold numbers, but not ones that mean anything.
  for (size_t i : {buffers.size() - 2, buffers.size() - 1}) {
    Buffer &buffer = buffers[i];
    int64_t count = 1;
    for (int extent : buffer.shape)
      count *= extent;
    for (int64_t j = 0; j != count; ++j) {
      float stale = 1000;
      if (type.getElementType().isF16())
        writeF16(buffer.memory.get() + 2 * j, stale);
      else
        std::memcpy(buffer.memory.get() + 4 * j, &stale, 4);
    }
    inputs.push_back(buffer.describe());
  }
  addInput(cache.lengths);
}

MachineCall::MachineCall(const Call &call, ArrayRef<RuntimeValue> expected) {
  for (const RuntimeValue &argument : call.arguments)
    if (auto *index = std::get_if<int64_t>(&argument))
      layer = *index;
  for (const RuntimeValue &argument : call.arguments) {
    if (auto *array = std::get_if<Array>(&argument)) {
      addInput(*array);
    } else if (auto *content = std::get_if<std::shared_ptr<Cache>>(&argument)) {
      cache = ::copyCache(**content);
      addCache(*cache, layer);
    } else {
      inputs.push_back(Descriptor(std::get<int64_t>(argument)));
    }
  }
  for (const RuntimeValue &result : expected) {
    if (auto *array = std::get_if<Array>(&result))
      outputs.push_back(makeBuffer(array->elementType, array->shape));
    else
      isUpdated = true;
  }
}

std::optional<SmallVector<Array>> MachineCall::run(const MachineCode &code,
                                                   ArrayRef<int64_t> tile) {
  if (cache)
    copyCache(*cache, layer, /*toBuffers=*/true);
  SmallVector<Descriptor> whole;
  for (Buffer &output : outputs) {
    Array layout = Array::wrap(
        output.elementType,
        SmallVector<int64_t>(output.shape.begin(), output.shape.end()),
        nullptr);
    std::memset(output.memory.get(), 0xff, layout.bytes());
    whole.push_back(output.describe());
  }
  if (isUpdated)
    for (int64_t i : {cacheBuffers, cacheBuffers + 1})
      whole.push_back(buffers[i].describe());

  // Tiles are counted along the first output, the last dimension fastest.
  SmallVector<int64_t> sizes, counts;
  int64_t total = 1;
  for (auto [dim, size] : llvm::enumerate(tile)) {
    int64_t extent = whole.front().extent(dim);
    sizes.push_back(size == 0 ? extent : size);
    counts.push_back(size == 0 ? 1 : (extent + size - 1) / size);
    total *= counts.back();
  }
  for (int64_t i = 0; i != total; ++i) {
    std::vector<Descriptor> arguments(inputs.begin(), inputs.end());
    for (Descriptor output : whole) {
      int64_t rest = i;
      for (size_t dim = tile.size(); dim-- != 0;) {
        int64_t start = rest % counts[dim] * sizes[dim];
        rest /= counts[dim];
        output = output.crop(
            dim, start,
            std::min(sizes[dim], whole.front().extent(dim) - start));
      }
      arguments.push_back(output);
    }
    if (code(arguments) != 0)
      return std::nullopt;
  }

  SmallVector<Array> results;
  for (Buffer &output : outputs) {
    SmallVector<int64_t> shape(output.shape.begin(), output.shape.end());
    results.push_back(copyOf(Array::wrap(
        output.elementType, shape,
        std::shared_ptr<char>(std::shared_ptr<char>(), output.memory.get()))));
  }
  if (isUpdated) {
    auto updated = ::copyCache(*cache);
    copyCache(*updated, layer, /*toBuffers=*/false);
    llvm::append_range(results, elementsOf(*updated));
  }
  return results;
}
