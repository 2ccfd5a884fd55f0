//===- Passes.h - How IR is rewritten ---------------------------*- C++ -*-===//
//
// The passes of Passes.td and the pipelines made of them.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_PASSES_PASSES_H
#define TFM_PASSES_PASSES_H

#include "dialect/TfmDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::tfm {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

} // namespace mlir::tfm

#endif // TFM_PASSES_PASSES_H
