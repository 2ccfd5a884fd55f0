//===- GgufWeights.h - Tensors of a GGUF file as weights --------*- C++ -*-===//

#ifndef TFM_IMPORT_GGUFWEIGHTS_H
#define TFM_IMPORT_GGUFWEIGHTS_H

#include "dialect/TfmDialect.h"
#include "import/formats/Gguf.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::tfm {

/// The weights of a model that is being imported. An architecture declares all
/// of them first, which finds whatever is wrong with the file, and then builds
/// its graph.
class GgufWeights {
public:
  /// Weights are added at the end of `module`.
  GgufWeights(const GgufFile &file, ModuleOp module)
      : file(file), module(module) {}

  /// Whether the file has the tensor `name`.weight.
  bool has(StringRef name) const;

  /// Adds `tfm.weight @name` for the tensor `name`.weight. `shape` is outermost
  /// first, as in IR; the file has it the other way round. Fails if the tensor
  /// is missing, or has another shape or an unsupported type.
  llvm::Error declare(StringRef name, ArrayRef<int64_t> shape);

  /// A declared weight as a value.
  Value load(OpBuilder &builder, StringRef name) const;

  /// Fails if the file has a tensor that was not declared: a model without it
  /// would be another model.
  llvm::Error checkAllDeclared(StringRef architecture) const;

private:
  llvm::Expected<Type> getElementType(StringRef tensorName,
                                      const GgufTensor &tensor);

  const GgufFile &file;
  ModuleOp module;
  llvm::StringMap<WeightOp> weights;
};

} // namespace mlir::tfm

#endif // TFM_IMPORT_GGUFWEIGHTS_H
