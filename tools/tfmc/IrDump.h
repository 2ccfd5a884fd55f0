//===- IrDump.h - The IR after every pass, in files -------------*- C++ -*-===//

#ifndef TFM_TOOLS_TFMC_IRDUMP_H
#define TFM_TOOLS_TFMC_IRDUMP_H

#include "mlir/Pass/PassManager.h"

namespace mlir::tfm {

/// Writes the module to `folder`/NN-pass.mlir after every pass that `manager`
/// runs; `count` goes on from manager to manager. A file that cannot be written
/// is reported at the module.
void dumpAfterEachPass(PassManager &manager, StringRef folder, unsigned &count);

} // namespace mlir::tfm

#endif // TFM_TOOLS_TFMC_IRDUMP_H
