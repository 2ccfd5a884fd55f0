//===- Steps.cpp - The pipeline, one pass at a time -----------------------===//

#include "test/random/Steps.h"

#include "dialect/TfmDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace mlir::tfm;

SmallVector<Step> tfm::getSteps(Activations activations) {
  SmallVector<Step> steps;
  auto add = [&](StringRef stage, function_ref<void(OpPassManager &)> build) {
    OpPassManager manager(ModuleOp::getOperationName());
    build(manager);
    for (Pass &pass : manager.getPasses()) {
      std::string text;
      llvm::raw_string_ostream os(text);
      pass.printAsTextualPipeline(os);
      steps.push_back({text, stage.str()});
    }
  };
  add("fused",
      [&](auto &manager) { buildFusedPipeline(manager, activations); });
  add("kernels", buildKernelsPipeline);
  add("planned", buildPlannedPipeline);
  return steps;
}

LogicalResult tfm::runStep(StringRef pass, ModuleOp module) {
  PassManager manager(module.getContext());
  manager.enableVerifier(true);
  if (failed(parsePassPipeline(pass, manager)))
    return failure();
  return manager.run(module);
}

std::string tfm::print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

std::optional<std::string> tfm::checkRoundTrip(ModuleOp module) {
  std::string text = print(module);
  auto parsed = parseSourceString<ModuleOp>(text, module.getContext());
  if (!parsed)
    return "does not parse again";
  if (print(*parsed) != text)
    return "prints otherwise after parsing";

  std::string generic;
  llvm::raw_string_ostream os(generic);
  module.print(os, OpPrintingFlags().printGenericOpForm());
  auto ofGeneric = parseSourceString<ModuleOp>(generic, module.getContext());
  if (!ofGeneric)
    return "does not parse in the generic form";
  if (print(*ofGeneric) != text)
    return "prints otherwise after parsing the generic form";
  return std::nullopt;
}

void tfm::registerSteps(DialectRegistry &registry) {
  registry.insert<TfmDialect, func::FuncDialect, arith::ArithDialect,
                  tensor::TensorDialect, memref::MemRefDialect>();
  registerTfmPasses();
  registerCanonicalizerPass();
  registerCSEPass();
}
