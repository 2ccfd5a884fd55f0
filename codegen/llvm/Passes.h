//===- Passes.h - From planned IR to the LLVM dialect -----------*- C++ -*-===//

#ifndef TFM_CODEGEN_LLVM_PASSES_H
#define TFM_CODEGEN_LLVM_PASSES_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::tfm {

#define GEN_PASS_DECL
#include "codegen/llvm/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "codegen/llvm/Passes.h.inc"

} // namespace mlir::tfm

#endif // TFM_CODEGEN_LLVM_PASSES_H
