//===- Packing.h - Weights in the order of reading --------------*- C++ -*-===//
//
// Reorders the stored elements of a weight as `tfm.unpack` documents.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_CODEGEN_HALIDE_PACKING_H
#define TFM_CODEGEN_HALIDE_PACKING_H

#include "dialect/TfmDialect.h"

namespace mlir::tfm {

/// Makes one part of the matrix `type`, [N, K]. `stored` are its elements or
/// blocks row by row, as a file has them. The result has `getStoredBytes` of
/// the part's type; rows that pad the last tile are zeros.
std::vector<char> packWeight(RankedTensorType type, PackedPart part,
                             ArrayRef<char> stored);

} // namespace mlir::tfm

#endif // TFM_CODEGEN_HALIDE_PACKING_H
