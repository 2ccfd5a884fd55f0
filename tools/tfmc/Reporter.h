//===- Reporter.h - What tfmc says about a model ----------------*- C++ -*-===//

#ifndef TFM_TOOLS_TFMC_REPORTER_H
#define TFM_TOOLS_TFMC_REPORTER_H

#include "mlir/IR/Diagnostics.h"

namespace mlir::tfm {

/// How one kind of remark is taken.
enum class RemarkPolicy {
  Count,  ///< counted, for `Reporter::summarize`
  Show,   ///< printed
  Refuse, ///< printed as an error, which the compilation does not survive
};

/// Prints diagnostics on standard error as `place: severity: text`, and keeps
/// account of remarks. Those of the importer are leftovers: parts of the model
/// file that nothing has used. All others are fallbacks: what was not fused,
/// stayed in f32, or got a generic schedule.
class Reporter {
public:
  Reporter(RemarkPolicy leftovers, RemarkPolicy fallbacks)
      : leftovers{leftovers}, fallbacks{fallbacks} {}

  /// What begins with it is compilation: remarks are fallbacks from here on.
  void endImport() { isImporting = false; }

  /// The handler of an MLIR context's diagnostics.
  LogicalResult print(Diagnostic &diagnostic);

  /// Whether a remark was refused.
  bool hasRefused() const { return refused; }

  /// Says in one line what was only counted.
  void summarize() const;

private:
  struct Kind {
    RemarkPolicy policy;
    unsigned count = 0;
  };

  Kind leftovers, fallbacks;
  bool isImporting = true, refused = false;
};

} // namespace mlir::tfm

#endif // TFM_TOOLS_TFMC_REPORTER_H
