//===- TokenDecoder.h - The text of a token ---------------------*- C++ -*-===//

#ifndef TFM_RUNTIME_TOKENDECODER_H
#define TFM_RUNTIME_TOKENDECODER_H

#include "runtime/PreTokenizer.h"

#include <string>
#include <vector>

namespace tfm {

/// Unchanging once created; may be used by several threads.
class TokenDecoder {
public:
  /// The strings of `data` must outlive the decoder.
  Error create(const TokenizerData &data);

  /// How far a text has come.
  struct Progress {
    bool isFirst = true; ///< no token has been decoded yet
    bool isTrimmed = false;
    uint32_t trimmed = 0; ///< characters dropped from the start
  };

  /// The bytes that a token spelt `token` adds to the text.
  std::string decode(std::string token, Workspace &workspace,
                     Progress &progress) const;

private:
  struct Step {
    uint32_t kind, flags;
    std::string_view first, second; ///< strings 0 and 1
    Rewriter rewriter;              ///< `TFM_STEP_REPLACE`
  };
  std::vector<Step> steps;
};

} // namespace tfm

#endif // TFM_RUNTIME_TOKENDECODER_H
