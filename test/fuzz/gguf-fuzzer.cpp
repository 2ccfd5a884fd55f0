//===- gguf-fuzzer.cpp - The GGUF reader on any bytes ---------------------===//
//
// Whatever the bytes, the reader gives a file or an error, and every value of a
// file can be asked for as every kind.
//
//===----------------------------------------------------------------------===//

#include "import/formats/Gguf.h"

using namespace mlir::tfm;

/// Asks for the value of a key in all ways; errors are as good as values.
static void readAll(GgufFile &file, llvm::StringRef key) {
  llvm::consumeError(file.getInt(key).takeError());
  llvm::consumeError(file.getFloat(key).takeError());
  llvm::consumeError(file.getBool(key).takeError());
  llvm::consumeError(file.getString(key).takeError());
  llvm::consumeError(file.getInts(key).takeError());
  llvm::consumeError(file.getStrings(key).takeError());
  llvm::consumeError(file.checkNeutral(key, "0"));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  llvm::Expected<GgufFile> file = GgufFile::parse(
      llvm::MemoryBuffer::getMemBuffer(bytes, "", /*RequiresNullTerminator=*/
                                       false),
      "fuzzed.gguf");
  if (!file) {
    llvm::consumeError(file.takeError());
    return 0;
  }
  for (llvm::StringRef key : file->getUnusedKeys())
    readAll(*file, key);
  if (!file->getUnusedKeys().empty())
    llvm::report_fatal_error("a key that was read counts as unused");
  for (const auto &[name, tensor] : file->getTensors()) {
    llvm::consumeError(file->tensorError(name, getName(tensor.type)));
    if (tensor.offset > size || tensor.dims.empty())
      llvm::report_fatal_error("a tensor lies outside the file");
  }
  return 0;
}
