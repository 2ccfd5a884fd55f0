//===- linear-kernel-test.cpp - Linear maps as machine code ---------------===//
//
// Weights are quantized here as a GGUF file stores them, packed by the
// compiler, and compared with sums in double precision. One row and many must
// agree to the bit.
//
//===----------------------------------------------------------------------===//

#include "codegen/halide/Packing.h"
#include "dialect/Weights.h"
#include "mlir/IR/MLIRContext.h"
#include "test/codegen/KernelRunner.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstring>
#include <gmock/gmock.h>

using namespace mlir;
using namespace mlir::tfm;
using llvm::formatv;

namespace {
/// A weight matrix as a file has it, as numbers, and packed.
class Weight {
public:
  Weight(const std::string &element, int rows, int size, Random &random)
      : element(element), rows(rows), size(size),
        values(std::vector<int>{rows, size}) {
    context.loadDialect<TfmDialect>();
    if (element == "f32" || element == "f16" || element == "bf16")
      storePlain(random);
    else
      storeBlocks(random);
    for (auto [part, partType] : UnpackOp::getParts(getType()))
      parts.push_back(packWeight(getType(), part, stored));
  }

  RankedTensorType getType() {
    Builder builder(&context);
    Type type = element == "f32"    ? Type(builder.getF32Type())
                : element == "f16"  ? Type(builder.getF16Type())
                : element == "bf16" ? Type(builder.getBF16Type())
                                    : Type(BlockType::get(&context, format()));
    return RankedTensorType::get({rows, size}, type);
  }

  /// Arguments of a kernel, their names starting with `name`; what unpacks
  /// them; and how many there are.
  std::string arguments(const std::string &name) {
    std::string text;
    for (auto [i, type] : llvm::enumerate(partTypes()))
      text += formatv(", %{0}{1}: {2}", name, i, type);
    return text;
  }
  std::string unpack(const std::string &name) {
    std::string operands, types;
    for (auto [i, type] : llvm::enumerate(partTypes())) {
      operands += formatv("{0}%{1}{2}", i ? ", " : "", name, i);
      types += formatv("{0}{1}", i ? ", " : "", type);
    }
    return formatv("%{0} = tfm.unpack {1} : ({2}) -> {3}\n", name, operands,
                   types, getType());
  }
  std::vector<Descriptor> descriptors() {
    std::vector<Descriptor> result;
    auto types = UnpackOp::getParts(getType());
    for (auto [bytes, part] : llvm::zip_equal(parts, types)) {
      std::vector<int> shape(part.second.getShape().begin(),
                             part.second.getShape().end());
      result.emplace_back(bytes.data(),
                          part.second.getElementTypeBitWidth() / 8, shape);
    }
    return result;
  }

  float operator()(int n, int k) const { return values({n, k}); }

private:
  BlockFormat format() const {
    return element == "q4_0"   ? BlockFormat::Q4_0
           : element == "q4_1" ? BlockFormat::Q4_1
                               : BlockFormat::Q8_0;
  }

  std::vector<Type> partTypes() {
    std::vector<Type> types;
    for (auto [part, type] : UnpackOp::getParts(getType()))
      types.push_back(type);
    return types;
  }

  void append(const void *bytes, size_t count) {
    const char *begin = static_cast<const char *>(bytes);
    stored.insert(stored.end(), begin, begin + count);
  }

  void storePlain(Random &random) {
    for (float &value : values.data) {
      value = random.next();
      uint32_t bits;
      std::memcpy(&bits, &value, 4);
      if (element == "f32") {
        append(&bits, 4);
      } else if (element == "f16") {
        Half half = toHalf(value);
        value = toFloat(half);
        append(&half, 2);
      } else {
        uint16_t upper = bits >> 16;
        bits &= 0xffff0000u;
        std::memcpy(&value, &bits, 4);
        append(&upper, 2);
      }
    }
  }

  /// Blocks of 32 as the GGUF specification lays them out.
  void storeBlocks(Random &random) {
    for (int n = 0; n != rows; ++n)
      for (int block = 0; block != size / 32; ++block) {
        Half scale = toHalf(0.02f * random.next()),
             min = toHalf(0.1f * random.next());
        append(&scale, 2);
        if (element == "q4_1")
          append(&min, 2);
        int quants[32];
        for (int &quant : quants)
          quant = element == "q8_0" ? random.next(255) - 127 : random.next(16);
        if (element == "q8_0")
          for (int quant : quants) {
            int8_t byte = quant;
            append(&byte, 1);
          }
        else
          for (int i = 0; i != 16; ++i) {
            uint8_t byte = quants[i] | quants[i + 16] << 4;
            append(&byte, 1);
          }
        for (int i = 0; i != 32; ++i) {
          double quant = element == "q4_0" ? quants[i] - 8 : quants[i];
          double offset = element == "q4_1" ? toFloat(min) : 0;
          values({n, 32 * block + i}) = toFloat(scale) * quant + offset;
        }
      }
  }

  MLIRContext context;
  std::string element;
  int rows, size;
  std::vector<char> stored;
  Array<float> values;
  std::vector<std::vector<char>> parts;
};

/// Rows of 8-bit integers with a scale and a sum per 32.
struct Quantized {
  Array<int8_t> quants;
  Array<float> scales, sums;

  Quantized(int rows, int size, Random &random)
      : quants({rows, size}), scales({rows, size / 32}),
        sums({rows, size / 32}) {
    for (int r = 0; r != rows; ++r)
      for (int block = 0; block != size / 32; ++block) {
        float scale = 0.01f * random.next();
        int sum = 0;
        for (int i = 0; i != 32; ++i) {
          int quant = random.next(255) - 127;
          quants({r, 32 * block + i}) = quant;
          sum += quant;
        }
        scales({r, block}) = scale;
        sums({r, block}) = scale * sum;
      }
  }
  double operator()(int r, int k) const {
    return double(scales({r, k / 32})) * quants({r, k});
  }
};

/// Runs `kernel` on all rows at once, row by row, and on a part, and expects
/// the same bits.
void expectSameBits(const Kernel &kernel, const std::vector<Descriptor> &inputs,
                    Array<float> &whole) {
  auto run = [&](Descriptor out) {
    std::vector<Descriptor> arguments = inputs;
    arguments.push_back(out);
    kernel(arguments);
  };
  run(whole);
  int rows = whole.shape[0], columns = whole.shape[1];
  Array<float> single(whole.shape);
  for (int r = 0; r != rows; ++r)
    run(Descriptor(single).crop(0, r, 1));
  EXPECT_EQ(single.data, whole.data);

  // A part, and nothing around it.
  int top = rows / 3, height = rows - top, left = columns > 32 ? 32 : 0;
  Array<float> part(whole.shape), expected(whole.shape);
  run(Descriptor(part).crop(0, top, height).crop(1, left, columns - left));
  for (int r = top; r != rows; ++r)
    for (int n = left; n != columns; ++n)
      expected({r, n}) = whole({r, n});
  EXPECT_EQ(part.data, expected.data);
}

class LinearKernels : public testing::TestWithParam<std::string> {};
} // namespace

TEST_P(LinearKernels, AddProductsInF32) {
  Random random;
  for (auto [rows, columns, size] :
       {std::tuple(9, 72, 96), {23, 96, 64}, {5, 32, 32}, {64, 40, 32}}) {
    SCOPED_TRACE(formatv("{0} x {1} x {2}", rows, columns, size).str());
    Weight weight(GetParam(), columns, size, random);
    Kernel kernel(formatv(
        R"(tfm.kernel @k(%x: tensor<?x{0}xf32>{1}, %b: tensor<{2}xf32>, %r: tensor<?x{2}xf32>) -> tensor<?x{2}xf32> {{
          {3}
          %y = tfm.linear %x, %w, %b : (tensor<?x{0}xf32>, {4}, tensor<{2}xf32>) -> tensor<?x{2}xf32>
          %z = tfm.add %r, %y : tensor<?x{2}xf32>
          tfm.yield %z : tensor<?x{2}xf32>
        })",
        size, weight.arguments("w"), columns, weight.unpack("w"),
        weight.getType()));
    EXPECT_FALSE(kernel.isGeneric());
    Array<float> x = random.array({rows, size}), bias = random.array({columns}),
                 residual = random.array({rows, columns}), y({rows, columns});
    std::vector<Descriptor> inputs = {x};
    llvm::append_range(inputs, weight.descriptors());
    inputs.push_back(bias);
    inputs.push_back(residual);
    expectSameBits(kernel, inputs, y);
    for (int r = 0; r != rows; ++r)
      for (int n = 0; n != columns; ++n) {
        double sum = residual({r, n}) + bias({n});
        for (int k = 0; k != size; ++k)
          sum += double(x({r, k})) * weight(n, k);
        ASSERT_NEAR(y({r, n}), sum, 1e-5) << "row " << r << ", column " << n;
      }
  }
}

/// 2016 times 3 are 6048, which a sum in f16 would miss by far.
TEST(HalfLinearKernels, SumsOfHalfsDoNotDrift) {
  constexpr int kSize = 2016;
  Kernel kernel(
      R"(tfm.kernel @k(%x: tensor<?x2016xf32>, %w0: tensor<1x2016x16xf16>) -> tensor<?x16xf32> {
        %w = tfm.unpack %w0 : (tensor<1x2016x16xf16>) -> tensor<16x2016xf16>
        %y = tfm.linear %x, %w : (tensor<?x2016xf32>, tensor<16x2016xf16>) -> tensor<?x16xf32>
        tfm.yield %y : tensor<?x16xf32>
      })");
  Array<float> x({9, kSize}), y({9, 16});
  Array<Half> weight({1, kSize, 16});
  llvm::fill(x.data, 1);
  llvm::fill(weight.data, toHalf(3));
  kernel({x, weight, y});
  for (int r = 0; r != 9; ++r)
    for (int n = 0; n != 16; ++n)
      EXPECT_EQ(y({r, n}), 3 * kSize);
}

INSTANTIATE_TEST_SUITE_P(Elements, LinearKernels,
                         testing::Values("f32", "f16", "bf16", "q4_0", "q4_1",
                                         "q8_0"));

/// A matrix that is no weight stays row by row.
TEST(PlainLinearKernels, TransposeTheirMatrix) {
  Kernel kernel(
      R"(tfm.kernel @k(%x: tensor<?x20xf32>, %w: tensor<36x20xf32>) -> tensor<?x36xf32> {
        %y = tfm.linear %x, %w : (tensor<?x20xf32>, tensor<36x20xf32>) -> tensor<?x36xf32>
        tfm.yield %y : tensor<?x36xf32>
      })");
  Random random;
  Array<float> x = random.array({10, 20}), w = random.array({36, 20}),
               y({10, 36});
  expectSameBits(kernel, {x, w}, y);
  for (int r = 0; r != 10; ++r)
    for (int n = 0; n != 36; ++n) {
      double sum = 0;
      for (int k = 0; k != 20; ++k)
        sum += double(x({r, k})) * w({n, k});
      ASSERT_NEAR(y({r, n}), sum, 1e-5);
    }
}

namespace {
class QuantizedLinearKernels : public testing::TestWithParam<std::string> {};
} // namespace

TEST_P(QuantizedLinearKernels, AddBlocksInOrder) {
  Random random;
  for (auto [rows, columns, size] :
       {std::tuple(9, 72, 96), {23, 96, 64}, {7, 32, 32}, {65, 128, 160}}) {
    SCOPED_TRACE(formatv("{0} x {1} x {2}", rows, columns, size).str());
    Weight weight(GetParam(), columns, size, random);
    Kernel kernel(formatv(
        R"(tfm.kernel @k(%q: tensor<?x{0}xi8>, %d: tensor<?x{1}xf32>, %s: tensor<?x{1}xf32>{2}, %r: tensor<?x{3}xf32>) -> tensor<?x{3}xf32> {{
          {4}
          %y = tfm.quantized_linear %q, %d, %s, %w : (tensor<?x{0}xi8>, tensor<?x{1}xf32>, tensor<?x{1}xf32>, {5}) -> tensor<?x{3}xf32>
          %z = tfm.add %r, %y : tensor<?x{3}xf32>
          tfm.yield %z : tensor<?x{3}xf32>
        })",
        size, size / 32, weight.arguments("w"), columns, weight.unpack("w"),
        weight.getType()));
    EXPECT_FALSE(kernel.isGeneric());
    Quantized x(rows, size, random);
    Array<float> residual = random.array({rows, columns}), z({rows, columns});
    std::vector<Descriptor> inputs = {x.quants, x.scales, x.sums};
    llvm::append_range(inputs, weight.descriptors());
    inputs.push_back(residual);
    expectSameBits(kernel, inputs, z);
    for (int r = 0; r != rows; ++r)
      for (int n = 0; n != columns; ++n) {
        double sum = residual({r, n}), magnitude = 1;
        for (int k = 0; k != size; ++k) {
          sum += x(r, k) * weight(n, k);
          magnitude += std::abs(x(r, k) * weight(n, k));
        }
        ASSERT_NEAR(z({r, n}), sum, 1e-6 * magnitude)
            << "row " << r << ", column " << n;
      }
  }
}

/// The largest values that quantization gives: 16-bit sums must hold them.
TEST_P(QuantizedLinearKernels, HoldTheLargestSums) {
  Random random;
  Weight weight(GetParam(), 32, 32, random);
  Kernel kernel(formatv(
      R"(tfm.kernel @k(%q: tensor<?x32xi8>, %d: tensor<?x1xf32>, %s: tensor<?x1xf32>{0}) -> tensor<?x32xf32> {{
        {1}
        %y = tfm.quantized_linear %q, %d, %s, %w : (tensor<?x32xi8>, tensor<?x1xf32>, tensor<?x1xf32>, {2}) -> tensor<?x32xf32>
        tfm.yield %y : tensor<?x32xf32>
      })",
      weight.arguments("w"), weight.unpack("w"), weight.getType()));
  // Every stored integer is the largest, every scale 1, every minimum 0.
  std::vector<Descriptor> parts = weight.descriptors();
  std::vector<uint8_t> quants(4 * 8 * 32, GetParam() == "q8_0" ? 127 : 0xff);
  Array<Half> scales({1, 1, 4, 8}), mins({1, 1, 4, 8});
  for (Half &scale : scales.data)
    scale = toHalf(1);
  bool isBytes = GetParam() == "q8_0";
  parts[0] = Descriptor(quants.data(), 1, {1, 1, 4, isBytes ? 8 : 4, 32});
  parts[1] = scales;
  if (parts.size() == 3)
    parts[2] = mins;
  for (int sign : {-1, 1}) {
    Array<int8_t> x({1, 32});
    Array<float> scale({1, 1}), sum({1, 1}), y({1, 32});
    std::fill(x.data.begin(), x.data.end(), sign * 127);
    scale.data = {1};
    sum.data = {sign * 127.0f * 32};
    std::vector<Descriptor> arguments = {x, scale, sum};
    llvm::append_range(arguments, parts);
    arguments.push_back(y);
    kernel(arguments);
    int largest = isBytes ? 127 : GetParam() == "q4_0" ? 7 : 15;
    EXPECT_THAT(y.data, testing::Each(sign * 127.0f * largest * 32));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, QuantizedLinearKernels,
                         testing::Values("q4_0", "q4_1", "q8_0"));

/// A gated feed-forward network up to its middle: two maps in one kernel.
TEST(FusedLinearKernels, GateAndUp) {
  constexpr int kRows = 11, kColumns = 64, kSize = 64;
  Random random;
  Weight gate("q4_1", kColumns, kSize, random),
      up("q4_0", kColumns, kSize, random);
  Kernel kernel(formatv(
      R"(tfm.kernel @k(%q: tensor<?x64xi8>, %d: tensor<?x2xf32>, %s: tensor<?x2xf32>{0}{1}) -> tensor<?x64xf32> {{
        {2}
        {3}
        %a = tfm.quantized_linear %q, %d, %s, %g : (tensor<?x64xi8>, tensor<?x2xf32>, tensor<?x2xf32>, {4}) -> tensor<?x64xf32>
        %b = tfm.quantized_linear %q, %d, %s, %u : (tensor<?x64xi8>, tensor<?x2xf32>, tensor<?x2xf32>, {5}) -> tensor<?x64xf32>
        %c = tfm.activation silu %a : tensor<?x64xf32>
        %y = tfm.mul %c, %b : tensor<?x64xf32>
        tfm.yield %y : tensor<?x64xf32>
      })",
      gate.arguments("g"), up.arguments("u"), gate.unpack("g"), up.unpack("u"),
      gate.getType(), up.getType()));
  EXPECT_FALSE(kernel.isGeneric());
  Quantized x(kRows, kSize, random);
  Array<float> y({kRows, kColumns});
  std::vector<Descriptor> inputs = {x.quants, x.scales, x.sums};
  llvm::append_range(inputs, gate.descriptors());
  llvm::append_range(inputs, up.descriptors());
  expectSameBits(kernel, inputs, y);
  for (int r = 0; r != kRows; ++r)
    for (int n = 0; n != kColumns; ++n) {
      double a = 0, b = 0;
      for (int k = 0; k != kSize; ++k) {
        a += x(r, k) * gate(n, k);
        b += x(r, k) * up(n, k);
      }
      ASSERT_NEAR(y({r, n}), a / (1 + std::exp(-a)) * b,
                  1e-5 * (1 + std::abs(a * b)));
    }
}

/// Instructions that this machine may lack can only be looked at.
TEST(LinearAssembly, UsesTheInstructionSet) {
  Random random;
  for (const char *format : {"q4_1", "q8_0"}) {
    Weight weight(format, 64, 64, random);
    std::string text = formatv(
        R"(tfm.kernel @k(%q: tensor<?x64xi8>, %d: tensor<?x2xf32>, %s: tensor<?x2xf32>{0}) -> tensor<?x64xf32> {{
          {1}
          %y = tfm.quantized_linear %q, %d, %s, %w : (tensor<?x64xi8>, tensor<?x2xf32>, tensor<?x2xf32>, {2}) -> tensor<?x64xf32>
          tfm.yield %y : tensor<?x64xf32>
        })",
        weight.arguments("w"), weight.unpack("w"), weight.getType());
    EXPECT_THAT(compileToAssembly(text, InstructionSet::Avx512Vnni),
                testing::HasSubstr("vpdpbusd"));
    std::string avx2 = compileToAssembly(text, InstructionSet::Avx2);
    EXPECT_THAT(avx2, testing::HasSubstr(std::string(format) == "q8_0"
                                             ? "vpmaddwd"
                                             : "vpmaddubsw"));
    EXPECT_THAT(avx2, testing::Not(testing::HasSubstr("%zmm")));
  }
}
