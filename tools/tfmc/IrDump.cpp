//===- IrDump.cpp - The IR after every pass, in files ---------------------===//

#include "tools/tfmc/IrDump.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tfm;

namespace {
class DumpAfterPass : public PassInstrumentation {
public:
  explicit DumpAfterPass(IrDump &dump) : dump(dump) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    auto module = dyn_cast<ModuleOp>(op);
    // The adaptor that runs nested passes has no name of its own.
    if (StringRef name = pass->getArgument(); !name.empty())
      dump.write(name, module ? module : op->getParentOfType<ModuleOp>());
  }

private:
  IrDump &dump;
};
} // namespace

void IrDump::write(StringRef name, ModuleOp module) {
  if (folder.empty())
    return;
  if (name != last)
    ++number;
  last = name.str();
  std::string path = llvm::formatv("{0}/{1}{2}-{3}.mlir", folder,
                                   number < 10 ? "0" : "", number, name);
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (!error) {
    module->print(os);
    os.close();
    error = os.error();
    os.clear_error();
  }
  if (!error)
    return;
  failed = true;
  module.emitError() << "cannot write " << path << ": " << error.message();
}

void IrDump::attach(PassManager &manager) {
  manager.addInstrumentation(std::make_unique<DumpAfterPass>(*this));
}
