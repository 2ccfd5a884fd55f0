//===- Llama.h - The graph of "llama" models --------------------*- C++ -*-===//

#ifndef TFM_IMPORT_ARCHITECTURES_LLAMA_H
#define TFM_IMPORT_ARCHITECTURES_LLAMA_H

#include "import/formats/Gguf.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::tfm {

/// Adds the weights and `@forward` of a GGUF file whose `general.architecture`
/// is "llama" to `module`. Fails on whatever would change the mathematics and
/// isn't supported: keys, tensors and their values.
llvm::Error importLlama(GgufFile &file, int64_t vocabulary, ModuleOp module);

} // namespace mlir::tfm

#endif // TFM_IMPORT_ARCHITECTURES_LLAMA_H
