//===- Inputs.h - Arguments as typed on the command line --------*- C++ -*-===//

#ifndef TFM_TOOLS_TFM_RUN_INPUTS_H
#define TFM_TOOLS_TFM_RUN_INPUTS_H

#include "dialect/interp/Values.h"
#include "llvm/Support/Error.h"

namespace mlir::tfm {

/// Makes an array out of `text`, JSON that is one of
///
/// - nested lists of numbers, `[[1, 2], [3, 4]]`;
/// - `{"shape": [2, 3]}`, an array that nobody has written yet;
/// - `{"shape": [2, 3], "random": 7}`, numbers in −1..1 that follow from the
///   seed 7.
///
/// Elements are f32, i32, i8 or i1. Says what is wrong otherwise.
llvm::Expected<Array> parseArray(StringRef text, Type elementType);

/// An array that nobody has written yet: NaN in floats.
llvm::Expected<Array> makeUnwritten(Type elementType, ArrayRef<int64_t> shape);

} // namespace mlir::tfm

#endif // TFM_TOOLS_TFM_RUN_INPUTS_H
