//===- MachineCode.cpp - Kernels as functions in memory -------------------===//

#include "test/codegen/MachineCode.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <array>
#include <cassert>
#include <cstdlib>
#include <dlfcn.h>

using namespace mlir;

/// What kernels expect of their surroundings.
extern "C" void *halide_malloc(void *, size_t bytes) {
  return std::aligned_alloc(64, (bytes + 127) / 64 * 64);
}
extern "C" void halide_free(void *, void *pointer) { std::free(pointer); }

Descriptor::Descriptor(void *data, size_t elementBytes,
                       const std::vector<int> &shape)
    : elementBytes(elementBytes) {
  buffer.host = static_cast<uint8_t *>(data);
  buffer.dimensions = static_cast<int>(shape.size());
  buffer.dim = dims;
  int stride = 1;
  for (auto [dim, extent] : llvm::enumerate(llvm::reverse(shape))) {
    dims[dim] = halide_dimension_t(0, extent, stride);
    stride *= extent;
  }
}

Descriptor &Descriptor::operator=(const Descriptor &other) {
  buffer = other.buffer;
  std::copy(std::begin(other.dims), std::end(other.dims), dims);
  buffer.dim = dims;
  elementBytes = other.elementBytes;
  index = other.index;
  isIndex = other.isIndex;
  return *this;
}

Descriptor Descriptor::crop(int dim, int min, int extent) const {
  Descriptor result = *this;
  halide_dimension_t &cropped = result.dims[buffer.dimensions - 1 - dim];
  result.buffer.host +=
      static_cast<int64_t>(min - cropped.min) * cropped.stride * elementBytes;
  cropped.min = min;
  cropped.extent = extent;
  return result;
}

MachineCode::MachineCode(ArrayRef<char> object, StringRef symbol) {
  SmallString<128> objectPath, libraryPath;
  int file;
  if (llvm::sys::fs::createTemporaryFile("kernel", "o", file, objectPath) ||
      llvm::sys::fs::createTemporaryFile("kernel", "so", libraryPath))
    return;
  llvm::raw_fd_ostream(file, /*shouldClose=*/true)
      .write(object.data(), object.size());
  auto linker = llvm::sys::findProgramByName("ld.lld", {TFM_LINKER_DIR});
  void *library = nullptr;
  if (linker &&
      llvm::sys::ExecuteAndWait(
          *linker, {*linker, "-shared", "-o", libraryPath, objectPath}) == 0)
    library = dlopen(libraryPath.c_str(), RTLD_NOW | RTLD_LOCAL);
  llvm::sys::fs::remove(objectPath);
  llvm::sys::fs::remove(libraryPath);
  if (library)
    function = dlsym(library, symbol.str().c_str());
}

int MachineCode::operator()(std::vector<Descriptor> arguments) const {
  assert(arguments.size() <= kMaxArguments && "expects fewer arguments");
  // Pointers and indices are passed alike; what is too much is not read.
  std::array<void *, kMaxArguments> passed = {};
  for (auto [place, argument] : llvm::zip(passed, arguments))
    place = argument.get();
  return [&]<size_t... I>(std::index_sequence<I...>) {
    using Function = int (*)(void *, decltype((void)I, (void *)nullptr)...);
    return reinterpret_cast<Function>(function)(nullptr, passed[I]...);
  }(std::make_index_sequence<kMaxArguments>());
}
