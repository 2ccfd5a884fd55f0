//===- Import.h - From a model file to IR -----------------------*- C++ -*-===//

#ifndef TFM_IMPORT_IMPORT_H
#define TFM_IMPORT_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::tfm {

/// Reads a model as IR of the stage `graph`: a GGUF file, or a Hugging Face
/// directory. What a file is shows in its content, not in its name. The module
/// has
///
/// - of a decoder, `@forward`, from tokens [B, S] to logits [B, S, V], in
///   textbook form; of a sentence encoder, `@embed`, from tokens [B, S] to
///   embeddings [B, E];
/// - a `tfm.weight` for each tensor, which refers to the file by `path`;
/// - a `tfm.resource` for the tokenizer and for the chat template, if any;
/// - the attribute `tfm.model`.
///
/// Returns null after an error, which names file, offset and key or tensor.
/// Keys that the IR doesn't depend on are named in a remark. Both go to the
/// context's diagnostics. Loads the dialects that it needs.
OwningOpRef<ModuleOp> importModel(StringRef path, MLIRContext &context);

} // namespace mlir::tfm

#endif // TFM_IMPORT_IMPORT_H
