//===- Scratch.cpp - Temporary memory of one worker -----------------------===//
//
// See Scratch.h.
//
//===----------------------------------------------------------------------===//

#include "runtime/Scratch.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

using namespace tfm;

/// Whole alignments, at least one. A size that wraps becomes one that no system
/// has.
static size_t roundUp(size_t bytes) {
  constexpr size_t mask = Scratch::alignment - 1;
  return bytes > SIZE_MAX / 2 ? SIZE_MAX & ~mask
                              : (std::max<size_t>(bytes, 1) + mask) & ~mask;
}

void *tfm::allocateAligned(size_t bytes) {
  void *pointer = std::aligned_alloc(Scratch::alignment, roundUp(bytes));
  if (!pointer) {
    std::fprintf(stderr, "error: cannot allocate %zu bytes for a kernel\n",
                 bytes);
    std::abort();
  }
  return pointer;
}

Scratch::~Scratch() { std::free(stack); }

void *Scratch::allocate(size_t bytes) {
  size_t rounded = roundUp(bytes);
  if (rounded > SIZE_MAX / 2)
    return allocateAligned(bytes);
  size_t needed = top + alignment + rounded;
  wanted = std::max(wanted, needed);
  // The stack can only move while nothing is on it; until then what does not
  // fit comes from the system.
  if (!last && wanted > capacity) {
    std::free(stack);
    capacity = wanted;
    stack = static_cast<char *>(allocateAligned(capacity));
  }
  if (needed > capacity)
    return allocateAligned(bytes);
  last = new (stack + top) Block{last, false};
  char *pointer = stack + top + alignment;
  top = needed;
  return pointer;
}

void Scratch::release(void *pointer) {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  auto start = reinterpret_cast<uintptr_t>(stack);
  if (address < start || address - start >= capacity) {
    std::free(pointer);
    return;
  }
  reinterpret_cast<Block *>(static_cast<char *>(pointer) - alignment)
      ->released = true;
  while (last && last->released) {
    top = static_cast<size_t>(reinterpret_cast<char *>(last) - stack);
    last = last->below;
  }
}
