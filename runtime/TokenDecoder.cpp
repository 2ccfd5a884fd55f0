//===- TokenDecoder.cpp - The text of a token -----------------------------===//
//
// See TokenDecoder.h.
//
//===----------------------------------------------------------------------===//

#include "runtime/TokenDecoder.h"
#include "runtime/ByteAlphabet.h"
#include "runtime/Utf8.h"

using namespace tfm;

Error TokenDecoder::create(const TokenizerData &data) {
  *this = {};
  for (const tfm_text_step &step : data.decoder) {
    Step &made = steps.emplace_back();
    made.kind = step.kind;
    made.flags = step.flags;
    made.first = data.string(step.strings[0]);
    made.second = data.string(step.strings[1]);
    if (step.kind == TFM_STEP_REPLACE)
      if (Error error = made.rewriter.create(data, step))
        return error;
  }
  return {};
}

/// Drops `character` from the start of a text that goes on with `text`, at most
/// `most` times.
static void trim(std::string_view character, uint32_t most,
                 TokenDecoder::Progress &progress, std::string &text) {
  size_t dropped = 0;
  while (!progress.isTrimmed && dropped < text.size()) {
    progress.isTrimmed =
        progress.trimmed == most || character.empty() ||
        !std::string_view(text).substr(dropped).starts_with(character);
    if (progress.isTrimmed)
      break;
    dropped += character.size();
    ++progress.trimmed;
  }
  text.erase(0, dropped);
}

std::string TokenDecoder::decode(std::string token, Workspace &workspace,
                                 Progress &progress) const {
  bool isFirst = std::exchange(progress.isFirst, false);
  for (const Step &step : steps) {
    switch (step.kind) {
    case TFM_STEP_READ_BYTES:
      token = readBytes(token);
      break;
    case TFM_STEP_READ_BYTE_TOKENS:
      if (int byte = readByteToken(token); byte >= 0)
        token = static_cast<char>(byte);
      break;
    case TFM_STEP_JOIN:
      if (isFirst)
        break;
      if (!step.first.empty() && token.starts_with(step.first))
        token.erase(0, step.first.size());
      else
        token.insert(0, step.second);
      break;
    case TFM_STEP_TRIM:
      trim(step.first, step.flags, progress, token);
      break;
    default: // TFM_STEP_REPLACE
      // A byte has no pattern, and what cannot be rewritten stays.
      if (countValidBytes(token, true) == token.size())
        (void)step.rewriter.apply(workspace, isFirst, token);
      break;
    }
  }
  return token;
}
