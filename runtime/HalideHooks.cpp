//===- HalideHooks.cpp - What compiled kernels call -----------------------===//
//
// Kernels are compiled without Halide's runtime, without assertions and
// without bounds queries. What is left of Halide's interface are the two
// functions for temporaries that do not fit on the stack; the rest (`memset`,
// `expf`, …) is in libc and libm.
//
//===----------------------------------------------------------------------===//

#include "runtime/Scratch.h"

#include <HalideRuntime.h>
#include <cstdlib>

using namespace tfm;

/// `context` is what `tfm_kernel_context` returned, or null.
void *halide_malloc(void *context, size_t bytes) {
  if (auto *scratch = static_cast<Scratch *>(context))
    return scratch->allocate(bytes);
  return allocateAligned(bytes);
}

void halide_free(void *context, void *pointer) {
  if (auto *scratch = static_cast<Scratch *>(context))
    scratch->release(pointer);
  else
    std::free(pointer);
}
