//===- Executable.h - Objects and weights to one file -----------*- C++ -*-===//

#ifndef TFM_CODEGEN_LLVM_EXECUTABLE_H
#define TFM_CODEGEN_LLVM_EXECUTABLE_H

#include "mlir/Support/LLVM.h"
#include "llvm/Support/Error.h"
#include <string>

namespace mlir::tfm {

/// What the linker makes.
enum class LinkedForm {
  Object,  ///< one relocatable object, without the runtime
  Library, ///< a shared library with the functions of tfm.h
  Executable,
};

/// The object that holds the file `weights` as a section: assembly, which the
/// linker's driver assembles.
std::string getWeightAssembly(StringRef weights);

/// Links `inputs` (objects and assembly) with the runtime's archives in
/// `runtime` to the file `output`, by the system's C++ compiler. The file
/// appears whole or not at all; the error holds what the linker said.
llvm::Error link(ArrayRef<std::string> inputs, LinkedForm form,
                 StringRef runtime, StringRef output);

} // namespace mlir::tfm

#endif // TFM_CODEGEN_LLVM_EXECUTABLE_H
