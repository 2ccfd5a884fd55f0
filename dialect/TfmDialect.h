//===- TfmDialect.h - The Transformer dialect -------------------*- C++ -*-===//
//
// The C++ side of the `.td` files: types, attributes, enums and operations.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_DIALECT_TFMDIALECT_H
#define TFM_DIALECT_TFMDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::tfm {

/// True if the types are equal, pairwise, but for dimensions that only one of
/// two tensors knows.
bool areCompatible(TypeRange lhs, TypeRange rhs);

class YieldOp;

} // namespace mlir::tfm

#include "dialect/TfmDialect.h.inc"
#include "dialect/TfmEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/TfmTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/TfmAttributes.h.inc"

#define GET_OP_CLASSES
#include "dialect/TfmOps.h.inc"

#endif // TFM_DIALECT_TFMDIALECT_H
