//===- Scratch.h - Temporary memory of one worker ---------------*- C++ -*-===//
//
// What `tfm_kernel_context` hands to kernels: a stack of temporaries that
// costs no call of the system allocator once it has grown to what a model's
// kernels need.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_SCRATCH_H
#define TFM_RUNTIME_SCRATCH_H

#include <cstddef>
#include <cstdint>

namespace tfm {

/// Used by one thread at a time.
class Scratch {
public:
  static constexpr size_t alignment = 128;

  Scratch() = default;
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  ~Scratch();

  /// Never null; ends the program if the system has no memory left, since
  /// kernels do not check.
  void *allocate(size_t bytes);

  /// In any order, though last in, first out keeps the stack lowest.
  void release(void *pointer);

private:
  /// Stands `alignment` bytes before the memory that was asked for.
  struct Block {
    Block *below;
    bool released;
  };

  char *stack = nullptr;
  size_t capacity = 0;
  size_t top = 0;
  size_t wanted = 0; ///< capacity that would have been enough so far
  Block *last = nullptr;
};

/// As `Scratch::allocate`, from the system.
void *allocateAligned(size_t bytes);

} // namespace tfm

#endif // TFM_RUNTIME_SCRATCH_H
