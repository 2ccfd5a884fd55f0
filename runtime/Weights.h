//===- Weights.h - The weight section of the executable ---------*- C++ -*-===//
//
// Packed weights stand in an ELF section that no segment covers, so the loader
// leaves them alone. The runtime finds the section in the file that it was
// loaded from and maps it by file offset: nothing is copied, processes share
// the pages, sizes over 4 GiB work and `strip` keeps them.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_WEIGHTS_H
#define TFM_RUNTIME_WEIGHTS_H

#include "runtime/Error.h"
#include "runtime/Memory.h"

#include <cstdint>
#include <string>

namespace tfm {

/// The path of the ELF file that `address` was loaded from: this executable,
/// or a shared library.
std::string findLoadedFile(const void *address);

/// Maps section `section` of the 64-bit ELF file `path`, which must hold
/// exactly `bytes` and start 64-byte aligned. Nothing is mapped for 0 bytes.
Error mapWeights(const std::string &path, const std::string &section,
                 uint64_t bytes, Mapping &weights);

} // namespace tfm

#endif // TFM_RUNTIME_WEIGHTS_H
