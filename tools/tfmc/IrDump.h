//===- IrDump.h - The IR after every pass, in files -------------*- C++ -*-===//

#ifndef TFM_TOOLS_TFMC_IRDUMP_H
#define TFM_TOOLS_TFMC_IRDUMP_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::tfm {

/// Writes a module to NN-NAME.mlir in a folder, numbered from 00, each time
/// that something has changed it. A file that cannot be written is reported at
/// the module.
class IrDump {
public:
  /// The folder exists. Without one, nothing is written.
  explicit IrDump(StringRef folder) : folder(folder.str()) {}

  /// Writes what `name` has made of the module. What the same name makes of it
  /// next, goes to the same file: a pass on functions runs once for each.
  void write(StringRef name, ModuleOp module);

  /// Writes after every pass that `manager` runs. The manager must not outlive
  /// this.
  void attach(PassManager &manager);

  /// Whether a file could not be written.
  bool hasFailed() const { return failed; }

private:
  std::string folder, last;
  int number = -1;
  bool failed = false;
};

} // namespace mlir::tfm

#endif // TFM_TOOLS_TFMC_IRDUMP_H
