//===- Safetensors.h - The tensors of a checkpoint --------------*- C++ -*-===//
//
// Reads safetensors files as the format's own documentation specifies them
// (github.com/huggingface/safetensors, "Format"), and the set of such files
// that a Hugging Face directory holds: bytes only.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_IMPORT_FORMATS_SAFETENSORS_H
#define TFM_IMPORT_FORMATS_SAFETENSORS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <string>

namespace mlir::tfm {

struct SafetensorsTensor {
  std::string path;  ///< of the file
  std::string dtype; ///< as the file spells it: "F32", "BF16", "I64"
  /// Outermost first; the product fits an int64_t.
  llvm::SmallVector<int64_t, 4> shape;
  uint64_t offset; ///< of the elements, in bytes from the file's beginning
};

/// By name.
using SafetensorsTensors = std::map<std::string, SafetensorsTensor>;

/// Adds the tensors of a file. Everything that can be checked without knowing
/// the model is: the header's length, offsets against the bytes there are and
/// against shape and dtype, tensors that overlap or leave gaps, names that
/// occur twice, here or in `tensors`. A dtype that has no known size is not an
/// error by itself.
///
/// Errors read `model.safetensors: tensor "x": expects this, but got that`.
llvm::Error readSafetensors(llvm::StringRef path, SafetensorsTensors &tensors);

/// The tensors of a directory: those of `model.safetensors`, or of the files
/// that `model.safetensors.index.json` names in its `weight_map`. A file that
/// is not inside the directory, by its name or by a link, is refused.
llvm::Expected<SafetensorsTensors>
readSafetensorsDirectory(llvm::StringRef directory);

/// An error about a tensor, or, where there is none of that name, about its
/// absence; `message` reads on from the name.
llvm::Error tensorError(const SafetensorsTensors &tensors, llvm::StringRef name,
                        const llvm::Twine &message);

} // namespace mlir::tfm

#endif // TFM_IMPORT_FORMATS_SAFETENSORS_H
