//===- HuggingFace.h - From a directory to IR -------------------*- C++ -*-===//

#ifndef TFM_IMPORT_HUGGINGFACE_H
#define TFM_IMPORT_HUGGINGFACE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace mlir::tfm {

/// Adds the model of a Hugging Face directory: `config.json`,
/// `model.safetensors` or its index, `tokenizer.json`, and what
/// sentence-transformers puts beside them (`modules.json`,
/// `sentence_bert_config.json`, `1_Pooling/config.json`). Reports the keys and
/// tensors that the IR does not depend on in remarks.
llvm::Error importHuggingFace(StringRef directory, ModuleOp module);

} // namespace mlir::tfm

#endif // TFM_IMPORT_HUGGINGFACE_H
