//===- KernelRunner.h - Kernels compiled, loaded and called -----*- C++ -*-===//
//
// Compiles a `tfm.kernel` written as text and calls the machine code, so that
// tests can compare it with plain loops.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_TEST_CODEGEN_KERNELRUNNER_H
#define TFM_TEST_CODEGEN_KERNELRUNNER_H

#include "codegen/halide/HalideCodegen.h"
#include "test/codegen/MachineCode.h"
#include <random>

/// A half-precision number, as bits.
struct Half {
  uint16_t bits;
};
Half toHalf(float value);
float toFloat(Half value);

/// Memory with a shape, outermost dimension first.
template <typename T> struct Array {
  std::vector<int> shape;
  std::vector<T> data;

  explicit Array(std::vector<int> shape) : shape(std::move(shape)) {
    size_t size = 1;
    for (int extent : this->shape)
      size *= extent;
    data.resize(size);
  }
  size_t index(std::initializer_list<int> at) const {
    size_t index = 0;
    auto extent = shape.begin();
    for (int i : at)
      index = index * *extent++ + i;
    return index;
  }
  T &operator()(std::initializer_list<int> at) { return data[index(at)]; }
  const T &operator()(std::initializer_list<int> at) const {
    return data[index(at)];
  }
  operator Descriptor() { return Descriptor(data.data(), sizeof(T), shape); }
};

/// A kernel in memory.
class Kernel {
public:
  /// Compiles the only kernel in `text` for AVX2.
  explicit Kernel(const std::string &text);

  void operator()(std::vector<Descriptor> arguments) const;
  bool isGeneric() const { return generic; }

private:
  MachineCode code;
  bool generic = false;
};

/// The assembly of the only kernel in `text`.
std::string compileToAssembly(const std::string &text,
                              mlir::tfm::InstructionSet isa);

/// What compiling `text` reports.
std::string compileWithError(const std::string &text);

/// Numbers between −1 and 1, the same in every run.
class Random {
public:
  explicit Random(unsigned seed = 1) : engine(seed) {}
  float next() { return distribution(engine); }
  int next(int below) { return static_cast<int>(engine() % below); }
  Array<float> array(std::vector<int> shape) {
    Array<float> result(std::move(shape));
    for (float &x : result.data)
      x = next();
    return result;
  }

private:
  std::mt19937 engine;
  std::uniform_real_distribution<float> distribution{-1.0f, 1.0f};
};

#endif // TFM_TEST_CODEGEN_KERNELRUNNER_H
