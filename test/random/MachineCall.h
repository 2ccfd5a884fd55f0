//===- MachineCall.h - Machine code called like the interpreter -*- C++ -*-===//

#ifndef TFM_TEST_RANDOM_MACHINECALL_H
#define TFM_TEST_RANDOM_MACHINECALL_H

#include "dialect/interp/Interpreter.h"
#include "test/codegen/MachineCode.h"

namespace mlir::tfm {

/// One launch of a kernel, with copies of its arguments.
struct Call {
  LaunchOp launch;
  SmallVector<RuntimeValue> arguments;
};

/// Copies that share no elements.
SmallVector<RuntimeValue> copyOf(ArrayRef<RuntimeValue> values);

/// The elements of a cache as two arrays of f32, keys and values.
SmallVector<Array> elementsOf(const Cache &cache);

/// Bytes that end where a page without access begins.
class Memory {
public:
  explicit Memory(size_t bytes);
  Memory(Memory &&other) { *this = std::move(other); }
  Memory &operator=(Memory &&other) {
    std::swap(start, other.start);
    std::swap(data, other.data);
    std::swap(total, other.total);
    return *this;
  }
  ~Memory();
  char *get() const { return data; }

private:
  char *start = nullptr, *data = nullptr;
  size_t total = 0;
};

/// The arguments and results of one call, as machine code wants them. Every
/// buffer ends at a page that nobody may touch.
class MachineCall {
public:
  explicit MachineCall(const Call &call, ArrayRef<RuntimeValue> expected);

  /// Runs the parts of the output that `tile` cuts, 0 for whole dimensions, and
  /// returns the results, with `elementsOf` an updated cache. None if the
  /// kernel reports an error.
  std::optional<SmallVector<Array>> run(const MachineCode &code,
                                        ArrayRef<int64_t> tile);

private:
  struct Buffer {
    Memory memory;
    Type elementType;
    std::vector<int> shape;
    size_t elementBytes;

    Descriptor describe() const {
      return Descriptor(memory.get(), elementBytes, shape);
    }
  };
  Buffer makeBuffer(Type elementType, ArrayRef<int64_t> shape);
  void addInput(const Array &array);
  void addCache(const Cache &cache, int64_t layer);
  void copyCache(Cache &cache, int64_t layer, bool toBuffers);

  SmallVector<Descriptor> inputs, cacheInputs;
  std::vector<Buffer> buffers, outputs;
  std::shared_ptr<Cache> cache;
  int64_t layer = 0, cacheBuffers = 0;
  bool isUpdated = false;
};

} // namespace mlir::tfm

#endif // TFM_TEST_RANDOM_MACHINECALL_H
