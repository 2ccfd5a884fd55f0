//===- MachineCode.h - Kernels as functions in memory -----------*- C++ -*-===//

#ifndef TFM_TEST_CODEGEN_MACHINECODE_H
#define TFM_TEST_CODEGEN_MACHINECODE_H

#include "mlir/Support/LLVM.h"
#include <HalideRuntime.h>
#include <vector>

/// What a kernel gets for a tensor, which refers to memory elsewhere, or for an
/// index.
class Descriptor {
public:
  Descriptor(int32_t index) : index(index), isIndex(true) {}
  /// A row-major tensor, outermost dimension first.
  Descriptor(void *data, size_t elementBytes, const std::vector<int> &shape);
  Descriptor(const Descriptor &other) { *this = other; }
  Descriptor &operator=(const Descriptor &other);

  /// `extent` elements from `min` on in dimension `dim`, counted from the
  /// outermost.
  Descriptor crop(int dim, int min, int extent) const;
  int extent(int dim) const { return dims[buffer.dimensions - 1 - dim].extent; }
  void *get() { return isIndex ? reinterpret_cast<void *>(index) : &buffer; }

private:
  halide_buffer_t buffer = {};
  halide_dimension_t dims[8];
  size_t elementBytes = 0;
  intptr_t index = 0;
  bool isIndex = false;
};

/// The machine code of one kernel, loaded into this program for good.
class MachineCode {
public:
  MachineCode() = default;
  /// Links and loads an object file; false in a test if that fails.
  MachineCode(mlir::ArrayRef<char> object, mlir::StringRef symbol);
  explicit operator bool() const { return function; }

  /// Calls the kernel with at most `kMaxArguments` and returns its error code.
  static constexpr size_t kMaxArguments = 16;
  int operator()(std::vector<Descriptor> arguments) const;

private:
  void *function = nullptr;
};

#endif // TFM_TEST_CODEGEN_MACHINECODE_H
