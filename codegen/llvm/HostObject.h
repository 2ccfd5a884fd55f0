//===- HostObject.h - Host code and descriptor to an object -----*- C++ -*-===//
//
// Turns lowered host code into an object file, together with the descriptor
// through which the runtime finds everything.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_CODEGEN_LLVM_HOSTOBJECT_H
#define TFM_CODEGEN_LLVM_HOSTOBJECT_H

#include "dialect/TfmDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::tfm {

/// What `tfm_model` of tfm_abi.h holds, in the compiler's words.
struct ModelDescription {
  struct Argument {
    std::string name;
    int32_t role, element; ///< `tfm_role`, `tfm_element`
    SmallVector<int64_t> dims;
  };
  struct EntryPoint {
    std::string name;
    SmallVector<Argument> arguments;
    int64_t arenaPerRow, arenaPerSample, arenaFixed;
  };
  struct Target {
    std::string name;
    uint32_t features;                ///< `TFM_CPU_` bits
    SmallVector<std::string> kernels; ///< symbols, by position in the module
  };
  struct Resource {
    std::string kind, bytes;
  };

  ModelAttr model;
  std::string compiler, summary;
  KvCacheType cache; ///< null in a model without one
  uint64_t weightBytes = 0;
  SmallVector<EntryPoint> entryPoints;
  SmallVector<Target> targets; ///< the best first
  SmallVector<Resource> resources;
};

/// The name of the section that holds the weights.
inline constexpr StringLiteral kWeightSection = ".tfm.weights";

/// What a planned function is to the runtime. Reports arguments of types that
/// the runtime does not know.
FailureOr<ModelDescription::EntryPoint>
describeEntryPoint(func::FuncOp planned);

/// Compiles a module in the LLVM dialect, with the descriptor added, to an
/// object for any x86-64 Linux.
FailureOr<SmallVector<char, 0>>
compileHost(ModuleOp module, const ModelDescription &description);

} // namespace mlir::tfm

#endif // TFM_CODEGEN_LLVM_HOSTOBJECT_H
