//===- KernelRunner.cpp - Kernels compiled, loaded and called -------------===//

#include "test/codegen/KernelRunner.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::tfm;

/// What kernels expect of their surroundings.
extern "C" void *halide_malloc(void *, size_t bytes) {
  return std::aligned_alloc(64, (bytes + 127) / 64 * 64);
}
extern "C" void halide_free(void *, void *pointer) { std::free(pointer); }

Half toHalf(float value) {
  llvm::APFloat converted(value);
  bool isInexact;
  converted.convert(llvm::APFloat::IEEEhalf(),
                    llvm::APFloat::rmNearestTiesToEven, &isInexact);
  return {static_cast<uint16_t>(converted.bitcastToAPInt().getZExtValue())};
}

float toFloat(Half value) {
  llvm::APFloat converted(llvm::APFloat::IEEEhalf(),
                          llvm::APInt(16, value.bits));
  bool isInexact;
  converted.convert(llvm::APFloat::IEEEsingle(),
                    llvm::APFloat::rmNearestTiesToEven, &isInexact);
  return converted.convertToFloat();
}

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

/// Calls `use` with the only kernel in `text`.
static void parseKernel(const std::string &text,
                        llvm::function_ref<void(KernelOp)> use,
                        std::string *errors = nullptr) {
  MLIRContext context;
  context.loadDialect<TfmDialect>();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (errors)
      *errors += diagnostic.str();
    else
      ADD_FAILURE() << diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (module)
    use(*module->getOps<KernelOp>().begin());
}

/// Links an object to a shared library and loads it.
static void *load(ArrayRef<char> object, StringRef symbol) {
  SmallString<128> objectPath, libraryPath;
  int file;
  if (llvm::sys::fs::createTemporaryFile("kernel", "o", file, objectPath) ||
      llvm::sys::fs::createTemporaryFile("kernel", "so", libraryPath))
    return nullptr;
  llvm::raw_fd_ostream(file, /*shouldClose=*/true)
      .write(object.data(), object.size());
  auto linker = llvm::sys::findProgramByName("ld.lld", {TFM_LINKER_DIR});
  if (!linker || llvm::sys::ExecuteAndWait(*linker, {*linker, "-shared", "-o",
                                                     libraryPath, objectPath}))
    return nullptr;
  void *library = dlopen(libraryPath.c_str(), RTLD_NOW | RTLD_LOCAL);
  llvm::sys::fs::remove(objectPath);
  llvm::sys::fs::remove(libraryPath);
  return library ? dlsym(library, symbol.str().c_str()) : nullptr;
}

Kernel::Kernel(const std::string &text) {
  parseKernel(text, [&](KernelOp kernel) {
    FailureOr<KernelObject> object =
        compileKernel(kernel, InstructionSet::Avx2, "kernel");
    if (failed(object))
      return;
    generic = object->isGeneric;
    function = load(object->bytes, "kernel");
  });
  EXPECT_NE(function, nullptr);
}

std::string compileToAssembly(const std::string &text, InstructionSet isa) {
  std::string assembly;
  parseKernel(text, [&](KernelOp kernel) {
    FailureOr<std::string> compiled =
        compileKernelToAssembly(kernel, isa, "kernel");
    if (succeeded(compiled))
      assembly = *compiled;
  });
  return assembly;
}

std::string compileWithError(const std::string &text) {
  std::string errors;
  parseKernel(
      text,
      [&](KernelOp kernel) {
        EXPECT_TRUE(
            failed(compileKernel(kernel, InstructionSet::Avx2, "kernel")));
      },
      &errors);
  return errors;
}

void Kernel::operator()(std::vector<Descriptor> arguments) const {
  ASSERT_NE(function, nullptr);
  // Pointers and indices are passed alike.
  auto get = [&](size_t i) {
    return i < arguments.size() ? arguments[i].get() : nullptr;
  };
  using Any = void *;
  auto call = reinterpret_cast<int (*)(void *, Any, Any, Any, Any, Any, Any,
                                       Any, Any, Any, Any, Any)>(function);
  ASSERT_LE(arguments.size(), 11u);
  EXPECT_EQ(call(nullptr, get(0), get(1), get(2), get(3), get(4), get(5),
                 get(6), get(7), get(8), get(9), get(10)),
            0);
}
