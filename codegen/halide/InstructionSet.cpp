//===- InstructionSet.cpp - What kernels are compiled for -----------------===//

#include "codegen/halide/InstructionSet.h"

#include "runtime/include/tfm_abi.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir::tfm;

llvm::ArrayRef<InstructionSet> mlir::tfm::getInstructionSets() {
  static constexpr InstructionSet all[] = {
      InstructionSet::Avx512Vnni, InstructionSet::Avx512, InstructionSet::Avx2};
  return all;
}

llvm::StringRef mlir::tfm::getName(InstructionSet isa) {
  switch (isa) {
  case InstructionSet::Avx2:
    return "avx2";
  case InstructionSet::Avx512:
    return "avx512";
  case InstructionSet::Avx512Vnni:
    return "avx512vnni";
  }
  llvm_unreachable("every instruction set has a name");
}

std::optional<InstructionSet>
mlir::tfm::parseInstructionSet(llvm::StringRef name) {
  auto found = llvm::find_if(getInstructionSets(), [&](InstructionSet isa) {
    return getName(isa) == name;
  });
  if (found == getInstructionSets().end())
    return std::nullopt;
  return *found;
}

uint32_t mlir::tfm::getCpuFeatures(InstructionSet isa) {
  switch (isa) {
  case InstructionSet::Avx2:
    return TFM_CPU_AVX2;
  case InstructionSet::Avx512:
    return TFM_CPU_AVX2 | TFM_CPU_AVX512;
  case InstructionSet::Avx512Vnni:
    return TFM_CPU_AVX2 | TFM_CPU_AVX512 | TFM_CPU_AVX512_VNNI;
  }
  llvm_unreachable("every instruction set has features");
}
