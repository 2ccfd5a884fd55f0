//===- SafetensorsWeights.h - Tensors of a checkpoint -----------*- C++ -*-===//

#ifndef TFM_IMPORT_SAFETENSORSWEIGHTS_H
#define TFM_IMPORT_SAFETENSORSWEIGHTS_H

#include "dialect/TfmDialect.h"
#include "import/formats/Safetensors.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::tfm {

/// Points every weight of `module` whose source is a name, the tensor's, to the
/// elements in the safetensors file at `path`. Reports at the weight what is
/// missing, or of another shape or type. Tensors that no weight names are named
/// in a remark.
LogicalResult bindNamedWeights(ModuleOp module, StringRef path);

/// The weights of a Hugging Face model that is being imported. An architecture
/// declares all of them first, which finds whatever is wrong with the files,
/// and then builds its graph.
class SafetensorsWeights {
public:
  /// Weights are added at the end of `module`.
  SafetensorsWeights(const SafetensorsTensors &tensors, ModuleOp module)
      : tensors(tensors), module(module) {}

  /// Whether there is a tensor `name`.
  bool has(StringRef name) const { return tensors.contains(name.str()); }

  /// Adds `tfm.weight @name` for the tensor `name`; `shape` is that of the
  /// file. Fails if the tensor is missing, or has another shape or an
  /// unsupported type.
  llvm::Error declare(StringRef name, ArrayRef<int64_t> shape);

  /// Adds `tfm.weight @name` for row `row` of the matrix `tensor`, [rows,
  /// size].
  llvm::Error declareRow(StringRef name, StringRef tensor, int64_t row,
                         int64_t rows, int64_t size);

  /// A declared weight as a value.
  Value load(OpBuilder &builder, StringRef name) const;

  /// The tensors that nothing was declared for.
  SmallVector<StringRef> getUndeclared() const;

private:
  llvm::Error declare(StringRef name, StringRef tensor,
                      ArrayRef<int64_t> stored, ArrayRef<int64_t> shape,
                      int64_t firstElement);

  const SafetensorsTensors &tensors;
  ModuleOp module;
  llvm::StringMap<WeightOp> weights;
  llvm::StringSet<> used; ///< tensors
};

} // namespace mlir::tfm

#endif // TFM_IMPORT_SAFETENSORSWEIGHTS_H
