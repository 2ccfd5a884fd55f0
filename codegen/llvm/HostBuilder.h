//===- HostBuilder.h - Writes host code in the LLVM dialect -----*- C++ -*-===//
//
// Shorthands for the few kinds of instructions that host code consists of.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_CODEGEN_LLVM_HOSTBUILDER_H
#define TFM_CODEGEN_LLVM_HOSTBUILDER_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace mlir::tfm {

/// A builder at one location. Integers are i64 unless said otherwise.
struct HostBuilder : OpBuilder {
  HostBuilder(MLIRContext *context, Location loc)
      : OpBuilder(context), loc(loc), ptr(LLVM::LLVMPointerType::get(context)),
        i64(getI64Type()), i32(getI32Type()) {}

  Value constant(int64_t value) {
    return LLVM::ConstantOp::create(*this, loc, i64, value);
  }
  Value constant32(int64_t value) {
    return LLVM::ConstantOp::create(*this, loc, i32, value);
  }
  Value add(Value a, Value b) { return LLVM::AddOp::create(*this, loc, a, b); }
  Value sub(Value a, Value b) { return LLVM::SubOp::create(*this, loc, a, b); }
  Value mul(Value a, Value b) { return LLVM::MulOp::create(*this, loc, a, b); }
  Value div(Value a, Value b) { return LLVM::SDivOp::create(*this, loc, a, b); }
  Value rem(Value a, Value b) { return LLVM::SRemOp::create(*this, loc, a, b); }
  Value min(Value a, Value b) { return LLVM::SMinOp::create(*this, loc, a, b); }
  Value to32(Value a) { return LLVM::TruncOp::create(*this, loc, i32, a); }
  Value to64(Value a) { return LLVM::SExtOp::create(*this, loc, i64, a); }
  /// `pointer` moved on by bytes.
  Value advance(Value pointer, Value bytes) {
    return LLVM::GEPOp::create(*this, loc, ptr, getI8Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{bytes});
  }
  Value advance(Value pointer, int64_t bytes) {
    return LLVM::GEPOp::create(*this, loc, ptr, getI8Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
  }
  /// What stands `bytes` after `pointer`.
  Value load(Type type, Value pointer, int64_t bytes) {
    return LLVM::LoadOp::create(*this, loc, type, advance(pointer, bytes));
  }
  void store(Value value, Value pointer, int64_t bytes) {
    LLVM::StoreOp::create(*this, loc, value, advance(pointer, bytes));
  }

  Location loc;
  Type ptr, i64, i32;
};

} // namespace mlir::tfm

#endif // TFM_CODEGEN_LLVM_HOSTBUILDER_H
