//===- Bert.h - The graph of "bert" models ----------------------*- C++ -*-===//

#ifndef TFM_IMPORT_ARCHITECTURES_BERT_H
#define TFM_IMPORT_ARCHITECTURES_BERT_H

#include "dialect/TfmDialect.h"
#include "import/formats/Json.h"
#include "import/formats/Safetensors.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::tfm {

/// What a sentence encoder makes of the last layer's rows.
struct SentencePooling {
  PoolKind kind = PoolKind::Mean;
  bool normalizes = false; ///< to length 1
};

/// Adds weights and `@embed`, from tokens [B, S] to embeddings [B, E], of a
/// model that `config` describes.
llvm::Error importBert(JsonFile &config, const SafetensorsTensors &tensors,
                       const SentencePooling &pooling, ModuleOp module);

} // namespace mlir::tfm

#endif // TFM_IMPORT_ARCHITECTURES_BERT_H
