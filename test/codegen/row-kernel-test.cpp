//===- row-kernel-test.cpp - Work on rows and elements as machine code ----===//
//
// Norms, quantization, embeddings, positions and activations, compared with
// their formulas in double precision.
//
//===----------------------------------------------------------------------===//

#include "test/codegen/KernelRunner.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <gmock/gmock.h>

using llvm::formatv;

TEST(RowKernels, RmsNorm) {
  for (int size : {576, 20, 7}) {
    SCOPED_TRACE(size);
    Kernel kernel(formatv(
        R"(tfm.kernel @k(%x: tensor<?x{0}xf32>, %g: tensor<{0}xf32>) -> tensor<?x{0}xf32> {{
          %y = tfm.rms_norm %x, %g {{epsilon = 1.0e-05 : f32} : tensor<?x{0}xf32>, tensor<{0}xf32>
          tfm.yield %y : tensor<?x{0}xf32>
        })",
        size));
    EXPECT_FALSE(kernel.isGeneric());
    Random random;
    Array<float> x = random.array({5, size}), gain = random.array({size}),
                 y(x.shape), part(x.shape);
    for (int k = 0; k != size; ++k)
      x({3, k}) = 0;
    kernel({x, gain, y});
    for (int r = 0; r != 5; ++r) {
      double squares = 0;
      for (int k = 0; k != size; ++k)
        squares += double(x({r, k})) * x({r, k});
      for (int k = 0; k != size; ++k)
        ASSERT_NEAR(y({r, k}),
                    x({r, k}) / std::sqrt(squares / size + 1e-5) * gain({k}),
                    1e-6 * (1 + std::abs(y({r, k}))));
    }
    for (int r = 0; r != 5; ++r)
      kernel({x, gain, Descriptor(part).crop(0, r, 1)});
    EXPECT_EQ(part.data, y.data);
  }
}

/// On a row that is nearly zero the epsilon of the operation decides.
TEST(RowKernels, RmsNormHonoursEpsilon) {
  for (float epsilon : {1e-5f, 1e-12f}) {
    SCOPED_TRACE(epsilon);
    Kernel kernel(formatv(
        R"(tfm.kernel @k(%x: tensor<?x20xf32>, %g: tensor<20xf32>) -> tensor<?x20xf32> {{
          %y = tfm.rms_norm %x, %g {{epsilon = {0:e} : f32} : tensor<?x20xf32>, tensor<20xf32>
          tfm.yield %y : tensor<?x20xf32>
        })",
        epsilon));
    Array<float> x({1, 20}), gain({20}), y(x.shape);
    llvm::fill(x.data, 1e-6f);
    llvm::fill(gain.data, 2);
    kernel({x, gain, y});
    for (int e = 0; e != 20; ++e)
      EXPECT_FLOAT_EQ(y({0, e}), 2e-6 / std::sqrt(1e-12 + double(epsilon)));
  }
}

TEST(RowKernels, LayerNorm) {
  for (auto [size, element] :
       {std::pair(384, "f32"), {20, "f16"}, {7, "f32"}, {40, "bf16"}}) {
    SCOPED_TRACE(size);
    Kernel kernel(formatv(
        R"(tfm.kernel @k(%x: tensor<?x{0}xf32>, %r: tensor<?x{0}xf32>, %g: tensor<{0}x{1}>, %b: tensor<{0}xf32>) -> tensor<?x{0}xf32> {{
          %s = tfm.add %x, %r : tensor<?x{0}xf32>
          %y = tfm.layer_norm %s, %g, %b {{epsilon = 1.0e-12 : f32} : tensor<?x{0}xf32>, tensor<{0}x{1}>, tensor<{0}xf32>
          tfm.yield %y : tensor<?x{0}xf32>
        })",
        size, element));
    EXPECT_FALSE(kernel.isGeneric());
    Random random;
    Array<float> x = random.array({5, size}),
                 residual = random.array({5, size}),
                 bias = random.array({size}), y(x.shape), part(x.shape);
    for (int k = 0; k != size; ++k) // a row far from 0
      x({3, k}) += 1000;
    for (int k = 0; k != size; ++k) // a row without variance
      x({2, k}) = residual({2, k}) = 0.25;
    // Of every type: 2, whose upper half is bf16.
    Array<float> gain({size});
    Array<Half> halfGain({size});
    Array<uint16_t> bits({size});
    llvm::fill(gain.data, 2);
    llvm::fill(halfGain.data, toHalf(2));
    llvm::fill(bits.data, 0x4000);
    Descriptor gainOf = llvm::StringRef(element) == "f32" ? Descriptor(gain)
                        : llvm::StringRef(element) == "f16"
                            ? Descriptor(halfGain)
                            : Descriptor(bits);
    kernel({x, residual, gainOf, bias, y});
    for (int r = 0; r != 5; ++r) {
      double mean = 0, variance = 0;
      auto at = [&](int k) { return double(x({r, k}) + residual({r, k})); };
      for (int k = 0; k != size; ++k)
        mean += at(k) / size;
      for (int k = 0; k != size; ++k)
        variance += (at(k) - mean) * (at(k) - mean) / size;
      for (int k = 0; k != size; ++k)
        ASSERT_NEAR(y({r, k}),
                    (at(k) - mean) / std::sqrt(variance + 1e-12) * 2 +
                        bias({k}),
                    r == 3 ? 2e-3 : 3e-6)
            << "row " << r;
    }
    for (int r = 0; r != 5; ++r)
      kernel({x, residual, gainOf, bias, Descriptor(part).crop(0, r, 1)});
    EXPECT_EQ(part.data, y.data);
  }
}

/// On a row that is nearly constant the epsilon of the operation decides.
TEST(RowKernels, LayerNormHonoursEpsilon) {
  for (float epsilon : {1e-5f, 1e-12f}) {
    SCOPED_TRACE(epsilon);
    Kernel kernel(formatv(
        R"(tfm.kernel @k(%x: tensor<?x20xf32>, %g: tensor<20xf32>) -> tensor<?x20xf32> {{
          %y = tfm.layer_norm %x, %g {{epsilon = {0:e} : f32} : tensor<?x20xf32>, tensor<20xf32>
          tfm.yield %y : tensor<?x20xf32>
        })",
        epsilon));
    Array<float> x({1, 20}), gain({20}), y(x.shape);
    for (int e = 0; e != 20; ++e) // a variance of 1e-12
      x({0, e}) = e % 2 ? 1e-6f : -1e-6f;
    llvm::fill(gain.data, 2);
    kernel({x, gain, y});
    for (int e = 0; e != 20; ++e)
      EXPECT_NEAR(y({0, e}),
                  (e % 2 ? 2e-6 : -2e-6) / std::sqrt(1e-12 + double(epsilon)),
                  1e-5 * std::abs(y({0, e})));
  }
}

TEST(RowKernels, PoolAndNormalize) {
  constexpr int kSamples = 3, kLength = 5, kSize = 20;
  Random random;
  Array<float> x = random.array({kSamples, kLength, kSize}),
               y({kSamples, kSize}), z({kSamples, kSize});
  for (const char *kind : {"mean", "first"}) {
    Kernel pool(formatv(
        R"(tfm.kernel @k(%x: tensor<?x?x20xf32>) -> tensor<?x20xf32> {{
          %y = tfm.pool {0} %x : (tensor<?x?x20xf32>) -> tensor<?x20xf32>
          tfm.yield %y : tensor<?x20xf32>
        })",
        kind));
    EXPECT_FALSE(pool.isGeneric());
    pool({x, y});
    for (int b = 0; b != kSamples; ++b)
      for (int e = 0; e != kSize; ++e) {
        double sum = 0;
        for (int s = 0; s != kLength; ++s)
          sum += x({b, s, e});
        EXPECT_NEAR(y({b, e}),
                    llvm::StringRef(kind) == "mean" ? sum / kLength
                                                    : x({b, 0, e}),
                    1e-6);
      }
  }
  for (int e = 0; e != kSize; ++e)
    y({1, e}) = 0;
  Kernel normalize(
      R"(tfm.kernel @k(%x: tensor<?x20xf32>) -> tensor<?x20xf32> {
        %y = tfm.l2_normalize %x {epsilon = 1.0e-12 : f32} : tensor<?x20xf32>
        tfm.yield %y : tensor<?x20xf32>
      })");
  EXPECT_FALSE(normalize.isGeneric());
  normalize({y, z});
  for (int b = 0; b != kSamples; ++b) {
    double squares = 0;
    for (int e = 0; e != kSize; ++e)
      squares += double(y({b, e})) * y({b, e});
    for (int e = 0; e != kSize; ++e)
      EXPECT_NEAR(z({b, e}), b == 1 ? 0 : y({b, e}) / std::sqrt(squares), 1e-6);
  }
}

TEST(RowKernels, EmbedsPositions) {
  constexpr int kSamples = 2, kLength = 3, kSize = 24, kPositions = 40;
  Kernel kernel(
      R"(tfm.kernel @k(%t: tensor<?x?xi32>, %w: tensor<40x24xf32>, %o: tensor<?xi32>, %v: tensor<24xf32>) -> tensor<?x?x24xf32> {
        %p = tfm.embed_positions %t, %w at %o {start = 2 : i64} : (tensor<?x?xi32>, tensor<40x24xf32>, tensor<?xi32>) -> tensor<?x?x24xf32>
        %y = tfm.add_vector %p, %v : tensor<?x?x24xf32>, tensor<24xf32>
        tfm.yield %y : tensor<?x?x24xf32>
      })");
  EXPECT_FALSE(kernel.isGeneric());
  Random random;
  Array<int32_t> tokens({kSamples, kLength}),
      offsets(std::vector<int>{kSamples});
  offsets.data = {35, 0}; // up to the last position
  Array<float> table = random.array({kPositions, kSize}),
               vector = random.array({kSize}), y({kSamples, kLength, kSize});
  kernel({tokens, table, offsets, vector, y});
  for (int b = 0; b != kSamples; ++b)
    for (int s = 0; s != kLength; ++s)
      for (int e = 0; e != kSize; ++e)
        EXPECT_EQ(y({b, s, e}), table({2 + offsets({b}) + s, e}) + vector({e}));
}

TEST(RowKernels, Quantize) {
  constexpr int kRows = 6, kSize = 96;
  Kernel kernel(
      R"(tfm.kernel @k(%x: tensor<?x96xf32>) -> (tensor<?x96xi8>, tensor<?x3xf32>, tensor<?x3xf32>) {
        %q, %d, %s = tfm.quantize %x : (tensor<?x96xf32>) -> (tensor<?x96xi8>, tensor<?x3xf32>, tensor<?x3xf32>)
        tfm.yield %q, %d, %s : tensor<?x96xi8>, tensor<?x3xf32>, tensor<?x3xf32>
      })");
  EXPECT_FALSE(kernel.isGeneric());
  Random random;
  Array<float> x = random.array({kRows, kSize});
  for (int k = 0; k != 32; ++k) {
    x({0, k}) = 0;
    // Halves, which go to the even neighbour: the scale is 1.
    x({1, k}) = k == 0 ? -127 : k + 0.5f;
  }
  Array<int8_t> quants({kRows, kSize});
  Array<float> scales({kRows, 3}), sums({kRows, 3});
  kernel({x, quants, scales, sums});
  for (int r = 0; r != kRows; ++r)
    for (int block = 0; block != 3; ++block) {
      float largest = 0;
      for (int i = 0; i != 32; ++i)
        largest = std::max(largest, std::abs(x({r, 32 * block + i})));
      EXPECT_EQ(scales({r, block}), largest / 127);
      int sum = 0;
      for (int i = 0; i != 32; ++i) {
        int k = 32 * block + i;
        float factor = largest > 0 ? 127 / largest : 0;
        ASSERT_EQ(quants({r, k}), std::nearbyint(x({r, k}) * factor)) << k;
        sum += quants({r, k});
      }
      EXPECT_EQ(sums({r, block}), scales({r, block}) * sum);
    }
  EXPECT_EQ(quants({1, 1}), 2);
  EXPECT_EQ(quants({1, 2}), 2);
}

TEST(RowKernels, NormAndQuantizeTogether) {
  constexpr int kRows = 5, kSize = 64;
  Kernel kernel(
      R"(tfm.kernel @k(%x: tensor<?x64xf32>, %g: tensor<64xf32>) -> (tensor<?x64xi8>, tensor<?x2xf32>, tensor<?x2xf32>) {
        %n = tfm.rms_norm %x, %g {epsilon = 1.0e-06 : f32} : tensor<?x64xf32>, tensor<64xf32>
        %q, %d, %s = tfm.quantize %n : (tensor<?x64xf32>) -> (tensor<?x64xi8>, tensor<?x2xf32>, tensor<?x2xf32>)
        tfm.yield %q, %d, %s : tensor<?x64xi8>, tensor<?x2xf32>, tensor<?x2xf32>
      })");
  EXPECT_FALSE(kernel.isGeneric());
  Random random;
  Array<float> x = random.array({kRows, kSize}), gain = random.array({kSize});
  Array<int8_t> quants({kRows, kSize}), rowQuants({kRows, kSize});
  Array<float> scales({kRows, 2}), sums({kRows, 2}), rowScales({kRows, 2}),
      rowSums({kRows, 2});
  kernel({x, gain, quants, scales, sums});
  for (int r = 0; r != kRows; ++r) {
    double squares = 0;
    for (int k = 0; k != kSize; ++k)
      squares += double(x({r, k})) * x({r, k});
    for (int k = 0; k != kSize; ++k) {
      double expected =
          x({r, k}) / std::sqrt(squares / kSize + 1e-6) * gain({k});
      float scale = scales({r, k / 32});
      ASSERT_NEAR(quants({r, k}) * scale, expected, 0.501 * scale);
    }
    kernel({x, gain, Descriptor(rowQuants).crop(0, r, 1),
            Descriptor(rowScales).crop(0, r, 1),
            Descriptor(rowSums).crop(0, r, 1)});
  }
  EXPECT_EQ(rowQuants.data, quants.data);
  EXPECT_EQ(rowScales.data, scales.data);
  EXPECT_EQ(rowSums.data, sums.data);
}

TEST(RowKernels, EmbedsTokens) {
  constexpr int kWords = 48, kSize = 20;
  Kernel kernel(
      R"(tfm.kernel @k(%t: tensor<?xi32>, %w0: tensor<3x20x16xf16>) -> tensor<?x20xf32> {
        %w = tfm.unpack %w0 : (tensor<3x20x16xf16>) -> tensor<48x20xf16>
        %y = tfm.embed %t, %w : (tensor<?xi32>, tensor<48x20xf16>) -> tensor<?x20xf32>
        tfm.yield %y : tensor<?x20xf32>
      })");
  EXPECT_FALSE(kernel.isGeneric());
  Random random;
  Array<Half> table({3, kSize, 16});
  for (Half &x : table.data)
    x = toHalf(random.next());
  Array<int32_t> tokens(std::vector<int>{4});
  tokens.data = {47, 0, 17, 47};
  Array<float> y({4, kSize});
  kernel({tokens, table, y});
  static_assert(kWords == 3 * 16);
  for (int r = 0; r != 4; ++r)
    for (int e = 0; e != kSize; ++e) {
      int token = tokens({r});
      EXPECT_EQ(y({r, e}), toFloat(table({token / 16, e, token % 16})));
    }
}

namespace {
struct RopeShape {
  const char *style;
  int size, dims;
};
class Rope : public testing::TestWithParam<RopeShape> {};
} // namespace

TEST_P(Rope, Rotates) {
  auto [style, size, dims] = GetParam();
  constexpr int kSamples = 3, kHeads = 2, kLength = 5;
  Kernel kernel(formatv(
      R"(tfm.kernel @k(%x: tensor<?x2x?x{0}xf32>, %o: tensor<?xi32>) -> tensor<?x2x?x{0}xf32> {{
        %y = tfm.rope %x at %o {1} {{dims = {2} : i64, theta = 1.0e+04 : f64} : tensor<?x2x?x{0}xf32>, tensor<?xi32>
        tfm.yield %y : tensor<?x2x?x{0}xf32>
      })",
      size, style, dims));
  Random random;
  Array<float> x = random.array({kSamples, kHeads, kLength, size}), y(x.shape);
  Array<int32_t> offsets(std::vector<int>{kSamples});
  offsets.data = {0, 100, 8187};
  kernel({x, offsets, y});
  bool isInterleaved = llvm::StringRef(style) == "interleaved";
  for (int b = 0; b != kSamples; ++b)
    for (int h = 0; h != kHeads; ++h)
      for (int s = 0; s != kLength; ++s) {
        for (int d = dims; d != size; ++d)
          EXPECT_EQ(y({b, h, s, d}), x({b, h, s, d}));
        for (int i = 0; i != dims / 2; ++i) {
          // The angle is one of f32, the rest is exact.
          float frequency = std::pow(1e4, -2.0 * i / dims);
          double angle = float(offsets({b}) + s) * frequency;
          int first = isInterleaved ? 2 * i : i;
          int second = isInterleaved ? 2 * i + 1 : i + dims / 2;
          double a = x({b, h, s, first}), c = x({b, h, s, second});
          EXPECT_NEAR(y({b, h, s, first}),
                      a * std::cos(angle) - c * std::sin(angle), 5e-7);
          EXPECT_NEAR(y({b, h, s, second}),
                      a * std::sin(angle) + c * std::cos(angle), 5e-7);
        }
      }
}

INSTANTIATE_TEST_SUITE_P(Styles, Rope,
                         testing::Values(RopeShape{"interleaved", 64, 64},
                                         RopeShape{"interleaved", 20, 8},
                                         RopeShape{"half", 80, 80},
                                         RopeShape{"half", 20, 12}));

namespace {
struct Activation {
  const char *name;
  double (*formula)(double);
};
class Activations : public testing::TestWithParam<Activation> {};
} // namespace

TEST_P(Activations, FollowTheirFormulas) {
  Kernel kernel(formatv(
      R"(tfm.kernel @k(%x: tensor<?x7xf32>) -> tensor<?x7xf32> {{
        %y = tfm.activation {0} %x : tensor<?x7xf32>
        tfm.yield %y : tensor<?x7xf32>
      })",
      GetParam().name));
  Array<float> x({300, 7}), y(x.shape);
  for (size_t i = 0; i != x.data.size(); ++i)
    x.data[i] = 0.01f * (static_cast<float>(i) - 1050);
  x.data[0] = -200;
  x.data[1] = 200;
  kernel({x, y});
  for (size_t i = 0; i != x.data.size(); ++i)
    ASSERT_NEAR(y.data[i], GetParam().formula(x.data[i]),
                2e-6 * std::max(1.0f, std::abs(x.data[i])))
        << x.data[i];
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Activations,
    testing::Values(
        Activation{"relu", [](double x) { return std::max(x, 0.0); }},
        Activation{"silu", [](double x) { return x / (1 + std::exp(-x)); }},
        Activation{
            "gelu",
            [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2))); }},
        Activation{"gelu_tanh", [](double x) {
                     double z =
                         std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
                     return x / 2 * (1 + std::tanh(z));
                   }}));

TEST(Errors, NameTheOperation) {
  EXPECT_THAT(
      compileWithError(
          R"(tfm.kernel @k(%x: tensor<?x64xf32>, %u: tensor<64x64xf32>) -> tensor<?x64xf32> {
            %y = tfm.ffn relu %x up %u down %u : (tensor<?x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
            tfm.yield %y : tensor<?x64xf32>
          })"),
      testing::HasSubstr("'tfm.ffn' op has no implementation in kernels"));
}

TEST(Errors, WantPackedWeights) {
  EXPECT_THAT(
      compileWithError(
          R"(tfm.kernel @k(%x: tensor<?x64xf32>, %w: tensor<64x64x!tfm.block<q8_0>>) -> tensor<?x64xf32> {
            %y = tfm.linear %x, %w : (tensor<?x64xf32>, tensor<64x64x!tfm.block<q8_0>>) -> tensor<?x64xf32>
            tfm.yield %y : tensor<?x64xf32>
          })"),
      testing::HasSubstr("expects packed weights, but got"));
}
