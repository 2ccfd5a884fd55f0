//===- GgufWriter.h - GGUF files for tests ----------------------*- C++ -*-===//
//
// Puts GGUF files together piece by piece, so that a test can get any piece
// wrong.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_TEST_IMPORT_GGUFWRITER_H
#define TFM_TEST_IMPORT_GGUFWRITER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlir::tfm {

class GgufWriter {
public:
  /// Numbers of value types in the file.
  enum { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };

  std::string magic = "GGUF";
  uint32_t version = 3;
  /// What the header claims, if it isn't the truth.
  std::optional<uint64_t> keyCount, tensorCount;
  /// Where the tensors' elements are put, whatever `general.alignment` says.
  uint64_t alignment = 32;

  template <typename T> static std::string number(T value) {
    std::string bytes(sizeof(T), 0);
    llvm::support::endian::write<T, llvm::endianness::little>(bytes.data(),
                                                              value);
    return bytes;
  }

  static std::string string(llvm::StringRef text) {
    return number<uint64_t>(text.size()) + text.str();
  }

  static std::string strings(const std::vector<std::string> &texts) {
    std::string bytes = array(String, texts.size());
    for (const std::string &text : texts)
      bytes += string(text);
    return bytes;
  }

  /// The beginning of an array.
  static std::string array(uint32_t elementType, uint64_t count) {
    return number(elementType) + number(count);
  }

  /// Adds a key with the bytes of its value.
  void key(llvm::StringRef name, uint32_t type, llvm::StringRef value) {
    keys += string(name) + number(type) + value.str();
    ++numKeys;
  }

  /// Adds a tensor's description alone, with its offset among the elements.
  void info(llvm::StringRef name, llvm::ArrayRef<uint64_t> dims, uint32_t type,
            uint64_t offset) {
    infos += string(name) + number<uint32_t>(dims.size());
    for (uint64_t dim : dims)
      infos += number(dim);
    infos += number(type) + number(offset);
    ++numTensors;
  }

  /// Adds a tensor with its elements.
  void tensor(llvm::StringRef name, llvm::ArrayRef<uint64_t> dims,
              uint32_t type, llvm::StringRef elements) {
    pad(data);
    info(name, dims, type, data.size());
    data += elements;
  }

  std::string str() const {
    std::string file = magic + number(version) +
                       number<uint64_t>(tensorCount.value_or(numTensors)) +
                       number<uint64_t>(keyCount.value_or(numKeys)) + keys +
                       infos;
    pad(file);
    return file + data;
  }

private:
  void pad(std::string &bytes) const {
    while (bytes.size() % alignment != 0)
      bytes += '\0';
  }

  std::string keys, infos, data;
  uint64_t numKeys = 0, numTensors = 0;
};

/// A file with the given bytes, as long as the object lives.
class TemporaryFile {
public:
  explicit TemporaryFile(llvm::StringRef bytes) {
    int descriptor;
    std::error_code code = llvm::sys::fs::createTemporaryFile(
        "tfm-test", "gguf", descriptor, path);
    if (code)
      llvm::report_fatal_error(llvm::Twine(code.message()));
    llvm::raw_fd_ostream(descriptor, /*shouldClose=*/true) << bytes;
    remover.setFile(path);
  }

  llvm::StringRef getPath() const { return path; }

private:
  llvm::SmallString<128> path;
  llvm::FileRemover remover;
};

} // namespace mlir::tfm

#endif // TFM_TEST_IMPORT_GGUFWRITER_H
