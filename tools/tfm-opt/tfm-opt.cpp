//===- tfm-opt.cpp - Runs passes on IR ------------------------------------===//
//
// MLIR's usual driver with the tfm dialect, its passes and its pipelines.
//
//===----------------------------------------------------------------------===//

#include "codegen/llvm/Passes.h"
#include "dialect/TfmDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::LLVM::LLVMDialect, mlir::memref::MemRefDialect,
                  mlir::tensor::TensorDialect, mlir::tfm::TfmDialect>();
  mlir::registerTransformsPasses();
  mlir::tfm::registerTfmPasses();
  mlir::tfm::registerTfmLlvmPasses();
  mlir::tfm::registerPipelines();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "TFM pass driver\n", registry));
}
