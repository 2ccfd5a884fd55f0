//===- Gguf.h - GGUF files: keys and tensors --------------------*- C++ -*-===//
//
// Reads GGUF versions 2 and 3, little-endian, as ggml's docs/gguf.md specifies
// them: bytes only, without any idea of what a key or a tensor means.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_IMPORT_FORMATS_GGUF_H
#define TFM_IMPORT_FORMATS_GGUF_H

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir::tfm {

/// How the elements of a tensor are stored, numbered as ggml's `enum
/// ggml_type`. A file may hold numbers other than these.
enum class GgmlType : uint32_t {
  F32 = 0,
  F16 = 1,
  Q4_0 = 2,
  Q4_1 = 3,
  Q8_0 = 8,
  BF16 = 30,
};

/// ggml's name of a type, or "type 99" for a number that has none.
std::string getName(GgmlType type);

/// Bytes of a file as messages show them: quoted, escaped, and cut if long.
std::string quote(llvm::StringRef bytes);

/// What kind of value a key has, numbered as in the file.
enum class GgufValueType : uint32_t {
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  F32,
  Bool,
  String,
  Array,
  U64,
  I64,
  F64,
};

/// Where a value stands; nothing is copied out of the file before it is asked
/// for.
struct GgufValue {
  GgufValueType type{};
  GgufValueType elementType{}; ///< of an array
  uint64_t count = 0;          ///< elements of an array, bytes of a string
  uint64_t offset = 0;         ///< of the number, characters or elements
};

struct GgufTensor {
  /// Innermost first, each at least 1; the product fits an int64_t.
  llvm::SmallVector<int64_t, 4> dims;
  GgmlType type;
  /// Where the file describes the tensor, in bytes from its beginning.
  uint64_t infoOffset;
  /// Where the file holds the elements, in bytes from its beginning.
  uint64_t offset;
};

/// A GGUF file, mapped into memory. Names and strings that it hands out live as
/// long as it does.
///
/// `open` checks everything that can be checked without knowing the model:
/// counts and lengths against the bytes there are, duplicate keys and tensors,
/// dimensions, alignment, and that tensors lie inside the file and apart from
/// each other. The size of a tensor whose type has no name is not checked.
///
/// Errors read `offset N: tensor "x": expects this, but got that`: which file
/// it is stands in the location that they are reported at.
class GgufFile {
public:
  static llvm::Expected<GgufFile> open(llvm::StringRef path);

  /// The same for bytes that are in memory; `path` is what `getPath` gives.
  static llvm::Expected<GgufFile>
  parse(std::unique_ptr<llvm::MemoryBuffer> bytes, llvm::StringRef path);

  llvm::StringRef getPath() const { return path; }

  /// The value of a key. A value of another kind is an error, and so is a
  /// missing key where there is no fallback. Integers and floats may have any
  /// width that holds the value. What these functions were asked for counts as
  /// used, see `getUnusedKeys`.
  llvm::Expected<int64_t> getInt(llvm::StringRef key,
                                 std::optional<int64_t> fallback = {});
  llvm::Expected<double> getFloat(llvm::StringRef key,
                                  std::optional<double> fallback = {});
  llvm::Expected<bool> getBool(llvm::StringRef key,
                               std::optional<bool> fallback = {});
  llvm::Expected<llvm::StringRef>
  getString(llvm::StringRef key, std::optional<llvm::StringRef> fallback = {});
  llvm::Expected<std::vector<int64_t>> getInts(llvm::StringRef key);
  llvm::Expected<std::vector<llvm::StringRef>> getStrings(llvm::StringRef key);

  /// The value of a key as text for messages, or nothing if there is none. It
  /// counts as used. Arrays are only counted: "32 strings".
  std::optional<std::string> describeValue(llvm::StringRef key);

  /// Fails if the key is there with another value than `neutral`, spelt as
  /// `describeValue` does. It counts as used.
  llvm::Error checkNeutral(llvm::StringRef key, llvm::StringRef neutral);

  /// The keys that nothing has asked for yet, in the file's order.
  llvm::SmallVector<llvm::StringRef> getUnusedKeys() const;

  /// By name, in the file's order.
  const llvm::MapVector<llvm::StringRef, GgufTensor> &getTensors() const {
    return tensors;
  }

  /// An error about a key or a tensor, or, where the file has none of that
  /// name, about its absence. `message` reads on from the name.
  llvm::Error keyError(llvm::StringRef key, const llvm::Twine &message) const;
  llvm::Error tensorError(llvm::StringRef name,
                          const llvm::Twine &message) const;

  /// The error about a key that the file has and that nobody knows.
  llvm::Error unknownKeyError(llvm::StringRef key);

private:
  friend class GgufParser;

  struct Entry {
    uint64_t offset = 0; ///< of the key
    GgufValue value{};
    bool used = false;
  };

  GgufFile() = default;

  /// The value of a key, null if there is none. Counts as used.
  const GgufValue *find(llvm::StringRef key);
  /// The same where one of a kind is needed: null stands for the fallback.
  llvm::Expected<const GgufValue *> find(llvm::StringRef key,
                                         bool (*isWanted)(const GgufValue &),
                                         const char *wanted, bool hasFallback);
  const char *at(uint64_t offset) const {
    return buffer->getBufferStart() + offset;
  }

  std::string path;
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  llvm::MapVector<llvm::StringRef, Entry> entries;
  llvm::MapVector<llvm::StringRef, GgufTensor> tensors;
};

} // namespace mlir::tfm

#endif // TFM_IMPORT_FORMATS_GGUF_H
