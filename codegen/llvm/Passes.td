//===- Passes.td - From planned IR to the LLVM dialect -----*- tablegen -*-===//

#ifndef TFM_CODEGEN_LLVM_PASSES_TD
#define TFM_CODEGEN_LLVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerHostPass : Pass<"tfm-lower-host", "::mlir::ModuleOp"> {
  let summary = "turns planned functions into the LLVM dialect";
  let description = [{
    Before: planned functions. After: for each of them an `llvm.func` with the
    signature of `tfm_entry_point::run` (runtime/include/tfm_abi.h), which every
    worker of a region runs from its first launch to its last, and one launcher
    per kernel and shape, which claims tiles and calls the kernel with buffer
    descriptors as Halide has them. Kernels are called through the table of the
    chosen target, by their position in the module; kernels, weights and
    resources are gone afterwards.

    See test/codegen/lower-host.mlir.
  }];
  let statistics = [
    Statistic<"numLaunchers", "num-launchers", "launchers">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // TFM_CODEGEN_LLVM_PASSES_TD
