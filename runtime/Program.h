//===- Program.h - An opened model ------------------------------*- C++ -*-===//
//
// The model's descriptor, checked, with what the runtime adds to it: the
// target chosen for this processor, the mapped weights and the tokenizer.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_PROGRAM_H
#define TFM_RUNTIME_PROGRAM_H

#include "runtime/Error.h"
#include "runtime/Memory.h"
#include "runtime/Tokenizer.h"
#include "runtime/include/tfm.h"
#include "runtime/include/tfm_abi.h"

#include <string_view>
#include <vector>

namespace tfm {

/// Unchanging once opened; may be used by several threads.
class Program {
public:
  /// `model` must outlive the program. The weights are those of the file that
  /// `model` was loaded from.
  Error open(const tfm_model &model);

  const tfm_model &model() const { return *descriptor; }
  const tfm_target &target() const { return *chosen; }
  const char *weights() const { return weightPages.data(); }
  const Tokenizer &tokenizer() const { return textTokenizer; }

  /// The entry point called `name`, or null.
  const tfm_entry_point *findEntryPoint(std::string_view name) const;

  /// E, the length of the vector that `embed` makes of a text, or 0 in a model
  /// without that entry point.
  int32_t embeddingSize() const;

  /// The entry points that `tfm_run` calls: neither those of text nor of
  /// embeddings. Null past the last one.
  const tfm_entry_point *findFunction(size_t index) const;

  /// See `tfm_get_function`.
  Error describeFunction(size_t index, tfm_signature &signature) const;

  /// Appends the tokens of a prompt: start of text, if the model's file asks
  /// for it and `text` doesn't begin with it, and those of `text`.
  Error encode(std::string_view text, std::vector<int32_t> &ids) const;

private:
  Error chooseTarget();
  Error checkEntryPoint(const tfm_entry_point &entry) const;

  const tfm_model *descriptor = nullptr;
  const tfm_target *chosen = nullptr;
  Mapping weightPages;
  Tokenizer textTokenizer;
};

} // namespace tfm

#endif // TFM_RUNTIME_PROGRAM_H
