//===- tokenizer-fuzzer.cpp - tokenizer.json on any bytes -----------------===//
//
// Whatever the bytes, they are a tokenizer or an error. A tokenizer is one that
// the runtime accepts and that makes tokens of a prompt: the bytes behind the
// first zero, which no JSON holds. The runtime may refuse a text that takes too
// long or becomes too long, but gives no token outside of the vocabulary.
//
//===----------------------------------------------------------------------===//

#include "import/TokenizerJson.h"
#include "runtime/Tokenizer.h"
#include "llvm/Support/ErrorHandling.h"

#include <cstring>

using namespace mlir::tfm;

static constexpr int32_t vocabulary = 300;

static void run(const TokenizerBlob &blob, llvm::StringRef prompt) {
  std::string bytes = blob.encode();
  std::vector<uint64_t> words(bytes.size() / 8 + 1);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  ::tfm::Tokenizer tokenizer;
  if (::tfm::Error error =
          tokenizer.create(words.data(), bytes.size(), vocabulary)) {
    // The one fault of a blob that is found when it is run.
    if (!llvm::StringRef(error.message()).contains("at most") &&
        !llvm::StringRef(error.message()).contains("cannot cut"))
      llvm::report_fatal_error(llvm::StringRef(error.message()));
    return;
  }
  std::vector<int32_t> ids;
  if (tokenizer.encode(prompt, ids))
    return;
  for (int32_t id : ids)
    if (id < 0 || id >= vocabulary)
      llvm::report_fatal_error("a token is outside the vocabulary");
  tokenizer.decode(ids);
  tokenizer.truncate(ids, 5);
  if (ids.size() > 5)
    llvm::report_fatal_error("a text was not cut");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  auto [text, prompt] = bytes.split('\0');
  llvm::Expected<HuggingFaceTokenizer> tokenizer =
      HuggingFaceTokenizer::parse(text, vocabulary);
  if (!tokenizer) {
    llvm::consumeError(tokenizer.takeError());
    return 0;
  }
  run(tokenizer->blob, prompt);
  return 0;
}
