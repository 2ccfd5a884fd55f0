//===- LlvmStatistics.h - Statistics as LLVM was built ----------*- C++ -*-===//
//
// Included first in builds with assertions. What a pass's statistic is made of
// hangs on NDEBUG, and Debian's LLVM, which constructs it, was built with it.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_CMAKE_LLVMSTATISTICS_H
#define TFM_CMAKE_LLVMSTATISTICS_H

#pragma push_macro("NDEBUG")
#undef NDEBUG
#define NDEBUG
#include "llvm/ADT/Statistic.h"
#pragma pop_macro("NDEBUG")

#endif // TFM_CMAKE_LLVMSTATISTICS_H
