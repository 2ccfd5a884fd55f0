//===- InstructionSet.h - What kernels are compiled for ---------*- C++ -*-===//
//
// The names of `tfmc --march` and what they stand for.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_CODEGEN_HALIDE_INSTRUCTIONSET_H
#define TFM_CODEGEN_HALIDE_INSTRUCTIONSET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace mlir::tfm {

enum class InstructionSet { Avx2, Avx512, Avx512Vnni };

/// All of them, the best first.
llvm::ArrayRef<InstructionSet> getInstructionSets();

/// "avx2", "avx512" or "avx512vnni".
llvm::StringRef getName(InstructionSet isa);

std::optional<InstructionSet> parseInstructionSet(llvm::StringRef name);

/// The `TFM_CPU_` bits of tfm_abi.h that a processor must have.
uint32_t getCpuFeatures(InstructionSet isa);

} // namespace mlir::tfm

#endif // TFM_CODEGEN_HALIDE_INSTRUCTIONSET_H
