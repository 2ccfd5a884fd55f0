//===- KernelRunner.cpp - Kernels compiled, loaded and called -------------===//

#include "test/codegen/KernelRunner.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/APFloat.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::tfm;

Half toHalf(float value) {
  llvm::APFloat converted(value);
  bool isInexact;
  converted.convert(llvm::APFloat::IEEEhalf(),
                    llvm::APFloat::rmNearestTiesToEven, &isInexact);
  return {static_cast<uint16_t>(converted.bitcastToAPInt().getZExtValue())};
}

float toFloat(Half value) {
  llvm::APFloat converted(llvm::APFloat::IEEEhalf(),
                          llvm::APInt(16, value.bits));
  bool isInexact;
  converted.convert(llvm::APFloat::IEEEsingle(),
                    llvm::APFloat::rmNearestTiesToEven, &isInexact);
  return converted.convertToFloat();
}

/// Calls `use` with the only kernel in `text`.
static void parseKernel(const std::string &text,
                        llvm::function_ref<void(KernelOp)> use,
                        std::string *errors = nullptr) {
  MLIRContext context;
  context.loadDialect<TfmDialect>();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (errors)
      *errors += diagnostic.str();
    else
      ADD_FAILURE() << diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (module)
    use(*module->getOps<KernelOp>().begin());
}

Kernel::Kernel(const std::string &text) {
  parseKernel(text, [&](KernelOp kernel) {
    FailureOr<KernelObject> object =
        compileKernel(kernel, InstructionSet::Avx2, "kernel");
    if (failed(object))
      return;
    generic = object->isGeneric;
    code = MachineCode(object->bytes, "kernel");
  });
  EXPECT_TRUE(code);
}

std::string compileToAssembly(const std::string &text, InstructionSet isa) {
  std::string assembly;
  parseKernel(text, [&](KernelOp kernel) {
    FailureOr<std::string> compiled =
        compileKernelToAssembly(kernel, isa, "kernel");
    if (succeeded(compiled))
      assembly = *compiled;
  });
  return assembly;
}

std::string compileWithError(const std::string &text) {
  std::string errors;
  parseKernel(
      text,
      [&](KernelOp kernel) {
        EXPECT_TRUE(
            failed(compileKernel(kernel, InstructionSet::Avx2, "kernel")));
      },
      &errors);
  return errors;
}

void Kernel::operator()(std::vector<Descriptor> arguments) const {
  ASSERT_TRUE(code);
  ASSERT_LE(arguments.size(), MachineCode::kMaxArguments);
  EXPECT_EQ(code(std::move(arguments)), 0);
}
