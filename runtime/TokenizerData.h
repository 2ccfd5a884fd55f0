//===- TokenizerData.h - A checked tokenizer blob ---------------*- C++ -*-===//
//
// The arrays of tfm_tokenizer_format.h. Whoever reads them may rely on what
// the format promises.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_TOKENIZERDATA_H
#define TFM_RUNTIME_TOKENIZERDATA_H

#include "runtime/Error.h"
#include "runtime/include/tfm_tokenizer_format.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace tfm {

struct TokenizerData {
  tfm_tokenizer_header header = {};
  std::span<const double> scores;
  std::span<const uint32_t> words;
  std::span<const tfm_merge> merges;
  std::span<const tfm_text_step> normalizer, preTokenizer, decoder;
  std::span<const uint32_t> prefix, suffix;
  std::span<const uint8_t> flags;

  /// Checks the `bytes` at `blob`, which must outlive what is read from them.
  Error open(const void *blob, uint64_t bytes);

  /// String `index`; of a token, its spelling.
  std::string_view string(uint32_t index) const {
    return {strings + offsets[index], offsets[index + 1] - offsets[index]};
  }

private:
  Error checkStrings() const;
  Error checkWords() const;
  Error checkModel() const;
  Error checkSteps() const;
  Error checkIds(const char *what, std::span<const uint32_t> ids) const;

  std::span<const uint32_t> offsets;
  const char *strings = nullptr;
};

} // namespace tfm

#endif // TFM_RUNTIME_TOKENIZERDATA_H
