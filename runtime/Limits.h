//===- Limits.h - What this machine could do at most ------------*- C++ -*-===//
//
// Yardsticks to hold a model's speed against, measured rather than looked up.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_LIMITS_H
#define TFM_RUNTIME_LIMITS_H

#include "runtime/Error.h"

namespace tfm {

struct Limits {
  double readBytesPerSecond; ///< from memory, far beyond the caches
  double flopsPerSecond;     ///< f32 multiply-adds in registers, counted as two
};

/// Measures with `threads` threads, the best of several runs; takes a
/// few seconds and a block of memory four times the last cache's size.
Error measureLimits(int threads, Limits &limits);

} // namespace tfm

#endif // TFM_RUNTIME_LIMITS_H
