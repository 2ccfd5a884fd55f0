//===- IrDump.cpp - The IR after every pass, in files ---------------------===//

#include "tools/tfmc/IrDump.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tfm;

namespace {
class IrDump : public PassInstrumentation {
public:
  IrDump(StringRef folder, unsigned &count)
      : folder(folder.str()), count(count) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    // The adaptor that runs nested passes has no name of its own.
    StringRef name = pass->getArgument();
    if (name.empty())
      return;
    // A pass on functions runs once per function: one file for all of them.
    if (name != last)
      ++count;
    last = name.str();
    auto module = dyn_cast<ModuleOp>(op);
    if (!module)
      module = op->getParentOfType<ModuleOp>();
    std::string path = llvm::formatv("{0}/{1:2}-{2}.mlir", folder, count, name);
    std::replace(path.begin() + folder.size(), path.end(), ' ', '0');
    std::error_code error;
    llvm::raw_fd_ostream os(path, error);
    if (!error) {
      module->print(os);
      os.close();
      error = os.error();
      os.clear_error();
    }
    if (error)
      module.emitError() << "cannot write " << path << ": " << error.message();
  }

private:
  std::string folder, last;
  unsigned &count;
};
} // namespace

void tfm::dumpAfterEachPass(PassManager &manager, StringRef folder,
                            unsigned &count) {
  manager.addInstrumentation(std::make_unique<IrDump>(folder, count));
}
