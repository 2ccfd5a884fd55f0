//===- Cpu.h - What this processor offers -----------------------*- C++ -*-===//
//
// Instruction sets and the number of cores that this process may use.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_CPU_H
#define TFM_RUNTIME_CPU_H

#include <cstdint>
#include <string>

namespace tfm {

/// The `TFM_CPU_` bits that both processor and operating system support.
uint32_t detectCpuFeatures();

/// "AVX2 + FMA + F16C, AVX-512 VNNI" for the bits in `features`.
std::string describeCpuFeatures(uint32_t features);

/// Physical cores within this process's affinity mask, at most the CPU quota
/// of its control group (version 2) rounded up. At least 1.
int countUsableCores();

} // namespace tfm

#endif // TFM_RUNTIME_CPU_H
