//===- Npy.h - Arrays in NumPy's files --------------------------*- C++ -*-===//
//
// The format of numpy.lib.format, versions 1 to 3: little-endian, in C order.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_NPY_H
#define TFM_RUNTIME_NPY_H

#include "runtime/Error.h"
#include "runtime/include/tfm.h"

#include <string>
#include <string_view>

namespace tfm {

/// Describes the array in a file's `bytes`, of f32 ("<f4"), f16, i32 or i8
/// elements. Its data are the file's: they start at a multiple of 64 bytes from
/// the beginning, or of the element's size at least. An error reads on from the
/// file's name.
Error readNpy(std::string_view bytes, tfm_tensor &tensor);

/// The bytes of a file with the array.
std::string writeNpy(const tfm_tensor &tensor);

} // namespace tfm

#endif // TFM_RUNTIME_NPY_H
