//===- Resources.h - Tokenizers and chat templates --------------*- C++ -*-===//

#ifndef TFM_IMPORT_RESOURCES_H
#define TFM_IMPORT_RESOURCES_H

#include "dialect/TfmDialect.h"
#include "import/GgufTokenizer.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::tfm {

/// Adds `tfm.resource @tokenizer`, and `@chat_template` if the file has one, to
/// `module`, and gives the tokenizer. Finds whatever would keep `readResource`
/// from giving their bytes.
llvm::Expected<GgufTokenizer> importResources(GgufFile &file, ModuleOp module);

/// Adds `tfm.resource @tokenizer` of a Hugging Face directory to `module`,
/// whose vocabulary is V. Fails on whatever would keep `readResource` from
/// giving its bytes. `longest`, unless it has a value, becomes the number of
/// tokens that the tokenizer's file cuts texts to, if any.
llvm::Error importTokenizerJson(StringRef directory, int64_t vocabulary,
                                ModuleOp module,
                                std::optional<int64_t> &longest);

/// The bytes of a resource, out of the file or the directory that it comes
/// from; reports why there are none.
///
/// | kind | bytes |
/// |---|---|
/// | `tokenizer` | as runtime/include/tfm_tokenizer_format.h says |
/// | `chat_template` | the template's text, UTF-8 |
FailureOr<std::string> readResource(ResourceOp resource);

} // namespace mlir::tfm

#endif // TFM_IMPORT_RESOURCES_H
