//===- Weights.h - The bytes behind a weight --------------------*- C++ -*-===//
//
// Where the interpreter and code generation find the elements of weights.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_DIALECT_WEIGHTS_H
#define TFM_DIALECT_WEIGHTS_H

#include "dialect/TfmDialect.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include <mutex>
#include <vector>

namespace mlir::tfm {

/// Bytes that dense elements of `type` take in a file. The shape is static.
uint64_t getStoredBytes(RankedTensorType type);

/// Decodes stored elements to f32. `elementType` is f32, f16, bf16 or a block
/// type; `bytes` holds exactly `elements.size()` of them, little-endian.
void decodeElements(ArrayRef<char> bytes, Type elementType,
                    MutableArrayRef<float> elements);

/// Gives the stored bytes of weights whose source is a file or dense elements.
/// Files are mapped once and stay mapped as long as the reader lives.
/// Thread-safe.
class WeightReader {
public:
  /// The weight's bytes, valid as long as the reader and the IR. Reports at
  /// the weight if the file cannot be read or ends too early.
  FailureOr<ArrayRef<char>> read(WeightOp weight);

private:
  std::mutex mutex;
  llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> files;
  /// Dense elements that the IR writes once, written out.
  DenseMap<Attribute, std::vector<char>> splats;
};

} // namespace mlir::tfm

#endif // TFM_DIALECT_WEIGHTS_H
