//===- HalideCodegen.h - Kernels to machine code ----------------*- C++ -*-===//
//
// Turns a `tfm.kernel` into an object file through Halide. See README.md for
// the interface of the machine code and for what runs in which tile.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_CODEGEN_HALIDE_HALIDECODEGEN_H
#define TFM_CODEGEN_HALIDE_HALIDECODEGEN_H

#include "codegen/halide/InstructionSet.h"
#include "dialect/TfmDialect.h"

namespace mlir::tfm {

/// What a kernel became.
struct KernelObject {
  /// An ELF relocatable object that defines one global symbol.
  std::vector<char> bytes;
  /// True if no tuned schedule knows this kind of kernel: a reason for a
  /// remark.
  bool isGeneric = false;
};

/// Compiles `kernel`, whose weights are packed (`tfm.unpack`), to an object
/// that defines the function `symbol`. Reports at the kernel or at one of its
/// operations if it cannot be compiled. Safe to call from several threads at a
/// time, as long as nobody changes the IR.
FailureOr<KernelObject> compileKernel(KernelOp kernel, InstructionSet isa,
                                      StringRef symbol);

/// The same kernel as readable assembly, for tests and for people.
FailureOr<std::string>
compileKernelToAssembly(KernelOp kernel, InstructionSet isa, StringRef symbol);

} // namespace mlir::tfm

#endif // TFM_CODEGEN_HALIDE_HALIDECODEGEN_H
