//===- attention-kernel-test.cpp - Attention as machine code --------------===//
//
// Compared with the textbook formulas in double precision. Over a cache, any
// way of cutting a text into chunks must give the same bits.
//
//===----------------------------------------------------------------------===//

#include "test/codegen/KernelRunner.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <functional>
#include <gmock/gmock.h>

using llvm::formatv;

namespace {
/// softmax(scale · q·k) · v over the keys that `sees` keeps, in double.
std::vector<double> attend(int keys, int valueSize,
                           std::function<double(int)> score,
                           std::function<bool(int)> sees,
                           std::function<double(int, int)> value) {
  double largest = -INFINITY, total = 0;
  for (int t = 0; t != keys; ++t)
    if (sees(t))
      largest = std::max(largest, score(t));
  std::vector<double> mixed(valueSize);
  for (int t = 0; t != keys; ++t) {
    if (!sees(t))
      continue;
    double weight = std::exp(score(t) - largest);
    total += weight;
    for (int d = 0; d != valueSize; ++d)
      mixed[d] += weight * value(t, d);
  }
  for (double &x : mixed)
    x = total > 0 ? x / total : 0;
  return mixed;
}

std::string windowText(std::optional<int> window) {
  return window ? "window " + std::to_string(*window) : "";
}

struct Shape {
  int heads, groups, keySize, valueSize;
  std::string element;
  std::optional<int> window = {};
};

/// A cache of one layer and the kernels that append to it and read it.
template <typename Element> class CachedAttention {
public:
  static constexpr int kSamples = 2, kContext = 192, kLength = 90;

  explicit CachedAttention(const Shape &shape)
      : shape(shape),
        keys({kSamples, shape.groups, kContext / 64, shape.keySize, 64}),
        values({kSamples, shape.groups, kContext, shape.valueSize}),
        append(appendText()), attention(attentionText()) {
    EXPECT_FALSE(append.isGeneric());
    EXPECT_FALSE(attention.isGeneric());
  }

  /// Appends rows first..first+count−1 of k and v to each sample and lets the
  /// same rows of q attend.
  void run(Array<float> &q, Array<float> &k, Array<float> &v, Array<float> &out,
           int first, int count) {
    auto rows = [&](Array<float> &x) {
      Array<float> part({kSamples, count, x.shape[2]});
      for (int b = 0; b != kSamples; ++b)
        for (int s = 0; s != count; ++s)
          for (int e = 0; e != x.shape[2]; ++e)
            part({b, s, e}) = x({b, first + s, e});
      return part;
    };
    Array<float> queryRows = rows(q), keyRows = rows(k), valueRows = rows(v);
    Array<float> outRows({kSamples, count, out.shape[2]});
    int width = shape.heads / shape.groups * shape.valueSize;
    for (int b = 0; b != kSamples; ++b)
      for (int g = 0; g != shape.groups; ++g)
        append({keyRows, valueRows, 0, keys, values, lengths,
                Descriptor(keys).crop(0, b, 1).crop(1, g, 1),
                Descriptor(values).crop(0, b, 1).crop(1, g, 1)});
    for (int b = 0; b != kSamples; ++b)
      for (int g = 0; g != shape.groups; ++g)
        for (int s = 0; s < count; s += 32)
          attention({queryRows, 0, keys, values, lengths,
                     Descriptor(outRows)
                         .crop(0, b, 1)
                         .crop(1, s, std::min(32, count - s))
                         .crop(2, g * width, width)});
    for (int b = 0; b != kSamples; ++b) {
      lengths({b}) += count;
      for (int s = 0; s != count; ++s)
        for (int e = 0; e != out.shape[2]; ++e)
          out({b, first + s, e}) = outRows({b, s, e});
    }
  }

  Shape shape;
  Array<Element> keys, values;
  Array<int32_t> lengths{std::vector<int>{kSamples}};

private:
  std::string cacheType() const {
    return formatv("!tfm.kv_cache<layers = 1, heads = {0}, key_size = {1}, "
                   "value_size = {2}, {3}>",
                   shape.groups, shape.keySize, shape.valueSize, shape.element);
  }
  std::string appendText() const {
    return formatv(
        R"(tfm.kernel @k(%k: tensor<?x?x{0}xf32>, %v: tensor<?x?x{1}xf32>, %layer: index, %c: {2}) -> {2} {{
          %kh = tfm.split_heads %k into {3} : (tensor<?x?x{0}xf32>) -> tensor<?x{3}x?x{4}xf32>
          %vh = tfm.split_heads %v into {3} : (tensor<?x?x{1}xf32>) -> tensor<?x{3}x?x{5}xf32>
          %n = tfm.cache_append %kh, %vh into %c[%layer] : tensor<?x{3}x?x{4}xf32>, tensor<?x{3}x?x{5}xf32>, {2}
          tfm.yield %n : {2}
        })",
        shape.groups * shape.keySize, shape.groups * shape.valueSize,
        cacheType(), shape.groups, shape.keySize, shape.valueSize);
  }
  std::string attentionText() const {
    return formatv(
        R"(tfm.kernel @k(%q: tensor<?x?x{0}xf32>, %layer: index, %c: {1}) -> tensor<?x?x{2}xf32> {{
          %qh = tfm.split_heads %q into {3} : (tensor<?x?x{0}xf32>) -> tensor<?x{3}x?x{4}xf32>
          %a = tfm.cache_attention %qh over %c[%layer] {6} {{scale = 0.25 : f32} : (tensor<?x{3}x?x{4}xf32>, {1}, index) -> tensor<?x{3}x?x{5}xf32>
          %y = tfm.merge_heads %a : (tensor<?x{3}x?x{5}xf32>) -> tensor<?x?x{2}xf32>
          tfm.yield %y : tensor<?x?x{2}xf32>
        })",
        shape.heads * shape.keySize, cacheType(), shape.heads * shape.valueSize,
        shape.heads, shape.keySize, shape.valueSize, windowText(shape.window));
  }

  Kernel append, attention;
};

float number(float x) { return x; }
float number(Half x) { return toFloat(x); }

template <typename Element> void checkCachedAttention(const Shape &shape) {
  SCOPED_TRACE(formatv("H {0}, G {1}, D {2}, D' {3}, {4}", shape.heads,
                       shape.groups, shape.keySize, shape.valueSize,
                       shape.element)
                   .str());
  using Cached = CachedAttention<Element>;
  constexpr int kSamples = Cached::kSamples, kLength = Cached::kLength;
  Cached whole(shape);
  Random random;
  Array<float> q =
      random.array({kSamples, kLength, shape.heads * shape.keySize});
  Array<float> k =
      random.array({kSamples, kLength, shape.groups * shape.keySize});
  Array<float> v =
      random.array({kSamples, kLength, shape.groups * shape.valueSize});
  for (float &x : q.data)
    x *= 4;
  Array<float> out({kSamples, kLength, shape.heads * shape.valueSize});

  // One sample starts with positions that it has already, the other without.
  Cached start = whole;
  start.lengths.data = {37, 0};
  for (int g = 0; g != shape.groups; ++g)
    for (int t = 0; t != 37; ++t) {
      auto set = [&](Element &element) {
        if constexpr (std::is_same_v<Element, Half>)
          element = toHalf(random.next());
        else
          element = random.next();
      };
      for (int d = 0; d != shape.keySize; ++d)
        set(start.keys({0, g, t / 64, d, t % 64}));
      for (int d = 0; d != shape.valueSize; ++d)
        set(start.values({0, g, t, d}));
    }
  whole = start;
  whole.run(q, k, v, out, 0, kLength);

  for (int b = 0; b != kSamples; ++b)
    for (int g = 0; g != shape.groups; ++g)
      for (int s = 0; s != kLength; ++s) {
        int t = start.lengths({b}) + s;
        for (int d = 0; d != shape.keySize; ++d)
          ASSERT_NEAR(number(whole.keys({b, g, t / 64, d, t % 64})),
                      k({b, s, g * shape.keySize + d}), 5e-4);
        for (int d = 0; d != shape.valueSize; ++d)
          ASSERT_NEAR(number(whole.values({b, g, t, d})),
                      v({b, s, g * shape.valueSize + d}), 5e-4);
      }

  for (int b = 0; b != kSamples; ++b)
    for (int h = 0; h != shape.heads; ++h)
      for (int s = 0; s < kLength; s += 7) {
        int g = h / (shape.heads / shape.groups);
        int last = start.lengths({b}) + s;
        std::vector<double> expected = attend(
            last + 1, shape.valueSize,
            [&](int t) {
              double sum = 0;
              for (int d = 0; d != shape.keySize; ++d)
                sum += double(q({b, s, h * shape.keySize + d})) *
                       number(whole.keys({b, g, t / 64, d, t % 64}));
              return 0.25 * sum;
            },
            [&](int t) { return !shape.window || t > last - *shape.window; },
            [&](int t, int d) { return number(whole.values({b, g, t, d})); });
        for (int d = 0; d != shape.valueSize; ++d)
          ASSERT_NEAR(out({b, s, h * shape.valueSize + d}), expected[d], 1e-5)
              << "sample " << b << ", head " << h << ", query " << s;
      }

  for (int chunk : {1, 5, 17, 64}) {
    SCOPED_TRACE(chunk);
    Cached cut = start;
    Array<float> again(out.shape);
    for (int s = 0; s < kLength; s += chunk)
      cut.run(q, k, v, again, s, std::min(chunk, kLength - s));
    EXPECT_EQ(again.data, out.data);
  }
}
} // namespace

TEST(CachedAttention, AgreesInF16) {
  checkCachedAttention<Half>({9, 3, 64, 64, "f16"});
  checkCachedAttention<Half>({4, 4, 20, 20, "f16"});
}

TEST(CachedAttention, AgreesInF32) {
  checkCachedAttention<float>({8, 1, 80, 40, "f32"});
  checkCachedAttention<float>({2, 1, 96, 96, "f32"});
  checkCachedAttention<float>({6, 2, 8, 7, "f32"});
}

TEST(CachedAttention, AgreesInAWindow) {
  checkCachedAttention<Half>({6, 2, 20, 20, "f16", 1});
  checkCachedAttention<Half>({6, 2, 20, 20, "f16", 70});
  checkCachedAttention<float>({2, 1, 8, 7, "f32", 4});
}

namespace {
/// Where all queries and keys are equal, attention is the mean of the values
/// so far, however large the scores are.
template <typename Element>
void checkEqualScores(const std::string &element, float query, float key) {
  SCOPED_TRACE(formatv("{0}, q {1}, k {2}", element, query, key).str());
  using Cached = CachedAttention<Element>;
  Cached cached(Shape{6, 2, 80, 80, element});
  Array<float> q({Cached::kSamples, Cached::kLength, 6 * 80}),
      k({Cached::kSamples, Cached::kLength, 2 * 80}), v(k.shape), out(q.shape);
  llvm::fill(q.data, query);
  llvm::fill(k.data, key);
  for (int b = 0; b != Cached::kSamples; ++b)
    for (int s = 0; s != Cached::kLength; ++s)
      for (int e = 0; e != 160; ++e)
        v({b, s, e}) = (s + e) % 16;
  // A long piece and steps of one.
  cached.run(q, k, v, out, 0, 70);
  for (int s = 70; s != Cached::kLength; ++s)
    cached.run(q, k, v, out, s, 1);
  for (int b = 0; b != Cached::kSamples; ++b)
    for (int e = 0; e != 6 * 80; ++e) {
      double sum = 0;
      for (int s = 0; s != Cached::kLength; ++s) {
        sum += v({b, s, e / 240 * 80 + e % 80});
        ASSERT_NEAR(out({b, s, e}), sum / (s + 1), 2e-5)
            << "sample " << b << ", query " << s << ", element " << e;
      }
    }
}
} // namespace

TEST(CachedAttention, LargeScores) {
  for (float sign : {1, -1}) {
    checkEqualScores<Half>("f16", 300, sign * 300);
    checkEqualScores<Half>("f16", 1e26f, sign * 1e4f);
    checkEqualScores<float>("f32", 1e15f, sign * 1e15f);
  }
}

namespace {
struct PlainShape {
  int queries, keys;
  bool isCausal, hasMask, hasBias;
  std::optional<int> window = {};
};
class PlainAttention : public testing::TestWithParam<PlainShape> {};
} // namespace

TEST_P(PlainAttention, Agrees) {
  constexpr int kSamples = 2, kHeads = 6, kGroups = 3, kKey = 40, kValue = 24;
  auto [queries, keys, isCausal, hasMask, hasBias, window] = GetParam();
  Kernel kernel(formatv(
      R"(tfm.kernel @k(%q: tensor<?x6x?x40xf32>, %k: tensor<?x3x?x40xf32>, %v: tensor<?x3x?x24xf32>{0}{1}) -> tensor<?x6x?x24xf32> {{
        %o = tfm.attention %q, %k, %v {2} {3} {4} {7} {{scale = 0.5 : f32} : (tensor<?x6x?x40xf32>, tensor<?x3x?x40xf32>, tensor<?x3x?x24xf32>{5}{6}) -> tensor<?x6x?x24xf32>
        tfm.yield %o : tensor<?x6x?x24xf32>
      })",
      hasMask ? ", %m: tensor<?x1x?x?xi1>" : "",
      hasBias ? ", %b: tensor<?x6x?x?xf32>" : "", hasMask ? "mask %m" : "",
      hasBias ? "bias %b" : "", isCausal ? "causal" : "",
      hasMask ? ", tensor<?x1x?x?xi1>" : "",
      hasBias ? ", tensor<?x6x?x?xf32>" : "", windowText(window)));
  EXPECT_FALSE(kernel.isGeneric());
  Random random;
  Array<float> q = random.array({kSamples, kHeads, queries, kKey});
  Array<float> k = random.array({kSamples, kGroups, keys, kKey});
  Array<float> v = random.array({kSamples, kGroups, keys, kValue});
  Array<uint8_t> mask({kSamples, 1, queries, keys});
  for (uint8_t &keep : mask.data)
    keep = random.next(3) != 0;
  // One query sees nothing.
  for (int t = 0; t != keys; ++t)
    mask({1, 0, queries - 1, t}) = 0;
  // One row for all samples and queries, and −infinity for all keys of a head.
  Array<float> bias = random.array({1, kHeads, 1, keys});
  bias({0, 0, 0, 0}) = -INFINITY;
  bias({0, 1, 0, 0}) = std::numeric_limits<float>::lowest();
  for (int t = 0; t != keys; ++t)
    bias({0, 5, 0, t}) = -INFINITY;
  Array<float> out({kSamples, kHeads, queries, kValue});
  for (int b = 0; b != kSamples; ++b)
    for (int g = 0; g != kGroups; ++g) {
      std::vector<Descriptor> arguments = {q, k, v};
      if (hasMask)
        arguments.push_back(mask);
      if (hasBias)
        arguments.push_back(bias);
      arguments.push_back(Descriptor(out).crop(0, b, 1).crop(1, 2 * g, 2));
      kernel(arguments);
    }
  for (int b = 0; b != kSamples; ++b)
    for (int h = 0; h != kHeads; ++h)
      for (int s = 0; s != queries; ++s) {
        int g = h / 2;
        std::vector<double> expected = attend(
            keys, kValue,
            [&, hasBias = hasBias](int t) {
              double sum = 0;
              for (int d = 0; d != kKey; ++d)
                sum += double(q({b, h, s, d})) * k({b, g, t, d});
              return 0.5 * sum + (hasBias ? bias({0, h, 0, t}) : 0);
            },
            [&, isCausal = isCausal, hasMask = hasMask, hasBias = hasBias,
             window = window](int t) {
              return (!isCausal || t <= s) &&
                     (!window || std::abs(s - t) < *window) &&
                     (!hasMask || mask({b, 0, s, t})) &&
                     (!hasBias || bias({0, h, 0, t}) != -INFINITY);
            },
            [&](int t, int d) { return v({b, g, t, d}); });
        for (int d = 0; d != kValue; ++d)
          ASSERT_NEAR(out({b, h, s, d}), expected[d], 1e-5)
              << "sample " << b << ", head " << h << ", query " << s;
      }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, PlainAttention,
    testing::Values(PlainShape{70, 70, true, false, false},
                    PlainShape{5, 130, false, false, true},
                    PlainShape{20, 33, false, true, false},
                    PlainShape{3, 3, true, true, true},
                    PlainShape{1, 1, true, false, false},
                    PlainShape{2, 2, false, false, false},
                    PlainShape{7, 7, false, true, false},
                    PlainShape{2, 1025, false, true, true},
                    PlainShape{1025, 2, true, false, false},
                    PlainShape{90, 200, false, false, false, 4},
                    PlainShape{200, 70, true, true, false, 70},
                    PlainShape{9, 9, false, false, true, 1}));

/// Scores at −2e30, the same for all keys that are kept.
TEST(MaskedAttention, VeryNegativeScores) {
  constexpr int kKeys = 10, kQueries = 9, kSize = 8;
  Kernel kernel(
      R"(tfm.kernel @k(%q: tensor<?x1x?x8xf32>, %k: tensor<?x1x?x8xf32>, %v: tensor<?x1x?x8xf32>, %m: tensor<?x1x?x?xi1>) -> tensor<?x1x?x8xf32> {
        %o = tfm.attention %q, %k, %v mask %m {scale = 0.25 : f32} : (tensor<?x1x?x8xf32>, tensor<?x1x?x8xf32>, tensor<?x1x?x8xf32>, tensor<?x1x?x?xi1>) -> tensor<?x1x?x8xf32>
        tfm.yield %o : tensor<?x1x?x8xf32>
      })");
  Random random;
  Array<float> q({1, 1, kQueries, kSize}), k({1, 1, kKeys, kSize}),
      v = random.array({1, 1, kKeys, kSize}), out(q.shape);
  llvm::fill(q.data, 1e15f);
  llvm::fill(k.data, -1e15f);
  Array<uint8_t> mask({1, 1, kQueries, kKeys}); // query s sees s keys
  for (int s = 0; s != kQueries; ++s)
    for (int t = 0; t != s; ++t)
      mask({0, 0, s, t}) = 1;
  kernel({q, k, v, mask, out});
  for (int s = 0; s != kQueries; ++s)
    for (int d = 0; d != kSize; ++d) {
      double sum = 0;
      for (int t = 0; t != s; ++t)
        sum += v({0, 0, t, d});
      EXPECT_NEAR(out({0, 0, s, d}), s ? sum / s : 0, 1e-6) << "query " << s;
    }
}

/// No element beyond the last takes part.
TEST(TextbookAttention, SoftmaxOfAnyLength) {
  Kernel kernel(
      R"(tfm.kernel @k(%x: tensor<?x1x?x?xf32>) -> tensor<?x1x?x?xf32> {
        %p = tfm.softmax %x : tensor<?x1x?x?xf32>
        tfm.yield %p : tensor<?x1x?x?xf32>
      })");
  for (int length : {1, 10, 33}) {
    SCOPED_TRACE(length);
    Array<float> x({1, 1, 3, length}), p(x.shape);
    for (int t = 0; t != length; ++t) {
      x({0, 0, 0, t}) = -7;
      x({0, 0, 1, t}) = -1e30f;
      x({0, 0, 2, t}) = -INFINITY;
    }
    kernel({x, p});
    for (int t = 0; t != length; ++t) {
      EXPECT_FLOAT_EQ(p({0, 0, 0, t}), 1.0f / length);
      EXPECT_FLOAT_EQ(p({0, 0, 1, t}), 1.0f / length);
      EXPECT_EQ(p({0, 0, 2, t}), 0);
    }
  }
}

/// The textbook form, operation by operation, with whatever schedule there is.
TEST(TextbookAttention, StepByStep) {
  constexpr int kSamples = 2, kHeads = 4, kGroups = 2, kLength = 11, kKeys = 13,
                kSize = 20;
  Random random;
  Array<float> q = random.array({kSamples, kHeads, kLength, kSize});
  Array<float> k = random.array({kSamples, kGroups, kKeys, kSize});
  Array<float> v = random.array({kSamples, kGroups, kKeys, kSize});
  // Query 0 of sample 1 sees nothing, the others the keys up to their own.
  Array<uint8_t> mask({kSamples, 1, kLength, kKeys});
  for (int b = 0; b != kSamples; ++b)
    for (int s = 0; s != kLength; ++s)
      for (int t = 0; t != kKeys; ++t)
        mask({b, 0, s, t}) = t <= s && !(b == 1 && s == 0);

  Kernel scores(
      R"(tfm.kernel @k(%q: tensor<?x4x?x20xf32>, %k: tensor<?x2x?x20xf32>, %m: tensor<?x1x?x?xi1>) -> tensor<?x4x?x?xf32> {
        %s = tfm.scores %q, %k : (tensor<?x4x?x20xf32>, tensor<?x2x?x20xf32>) -> tensor<?x4x?x?xf32>
        %t = tfm.scale %s by 0.5 : tensor<?x4x?x?xf32>
        %u = tfm.apply_mask %t, %m : tensor<?x4x?x?xf32>, tensor<?x1x?x?xi1>
        tfm.yield %u : tensor<?x4x?x?xf32>
      })");
  EXPECT_TRUE(scores.isGeneric());
  Kernel softmax(
      R"(tfm.kernel @k(%x: tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32> {
        %p = tfm.softmax %x : tensor<?x4x?x?xf32>
        tfm.yield %p : tensor<?x4x?x?xf32>
      })");
  Kernel mix(
      R"(tfm.kernel @k(%p: tensor<?x4x?x?xf32>, %v: tensor<?x2x?x20xf32>) -> tensor<?x4x?x20xf32> {
        %o = tfm.mix %p, %v : (tensor<?x4x?x?xf32>, tensor<?x2x?x20xf32>) -> tensor<?x4x?x20xf32>
        tfm.yield %o : tensor<?x4x?x20xf32>
      })");
  Array<float> x({kSamples, kHeads, kLength, kKeys}), p(x.shape), o(q.shape);
  scores({q, k, mask, x});
  softmax({x, p});
  mix({p, v, o});

  for (int b = 0; b != kSamples; ++b)
    for (int h = 0; h != kHeads; ++h)
      for (int s = 0; s != kLength; ++s) {
        auto score = [&](int t) {
          double sum = 0;
          for (int d = 0; d != kSize; ++d)
            sum += double(q({b, h, s, d})) * k({b, h / 2, t, d});
          return 0.5 * sum;
        };
        auto sees = [&](int t) { return mask({b, 0, s, t}) != 0; };
        for (int t = 0; t != kKeys; ++t) {
          if (sees(t))
            ASSERT_NEAR(x({b, h, s, t}), score(t), 1e-5);
          else
            ASSERT_EQ(x({b, h, s, t}), -INFINITY);
        }
        std::vector<double> expected =
            attend(kKeys, kSize, score, sees,
                   [&](int t, int d) { return v({b, h / 2, t, d}); });
        for (int d = 0; d != kSize; ++d)
          ASSERT_NEAR(o({b, h, s, d}), expected[d], 1e-5);
      }
}

TEST(TextbookAttention, CausalMaskFromLengths) {
  Kernel kernel(
      R"(tfm.kernel @k(%x: tensor<?x1x?x?xf32>, %s: index, %t: index) -> tensor<?x1x?x?xf32> {
        %m = tfm.causal_mask %s by %t : tensor<1x1x?x?xi1>
        %y = tfm.apply_mask %x, %m : tensor<?x1x?x?xf32>, tensor<1x1x?x?xi1>
        tfm.yield %y : tensor<?x1x?x?xf32>
      })");
  Random random;
  Array<float> x = random.array({2, 1, 3, 5}), y(x.shape);
  kernel({x, 3, 5, y});
  for (int b = 0; b != 2; ++b)
    for (int s = 0; s != 3; ++s)
      for (int t = 0; t != 5; ++t)
        EXPECT_EQ(y({b, 0, s, t}), t <= s ? x({b, 0, s, t}) : -INFINITY);
}

/// In the kernel of the attention that reads them.
TEST(MaskedAttention, MasksFromLengths) {
  Kernel kernel(
      R"(tfm.kernel @k(%q: tensor<?x1x?x8xf32>, %k: tensor<?x1x?x8xf32>, %s: index, %t: index, %n: tensor<?xi32>, %hidden: tensor<?x1x?x?xi1>) -> tensor<?x1x?x8xf32> {
        %w = tfm.window_mask %s by %t of 3 : tensor<1x1x?x?xi1>
        %p = tfm.padding_mask %n by %t : (tensor<?xi32>, index) -> tensor<?x1x1x?xi1>
        %h = tfm.mask_not %hidden : tensor<?x1x?x?xi1>
        %a = tfm.mask_and %w, %p : (tensor<1x1x?x?xi1>, tensor<?x1x1x?xi1>) -> tensor<?x1x?x?xi1>
        %m = tfm.mask_and %h, %a : (tensor<?x1x?x?xi1>, tensor<?x1x?x?xi1>) -> tensor<?x1x?x?xi1>
        %o = tfm.attention %q, %k, %k mask %m {scale = 0.5 : f32} : (tensor<?x1x?x8xf32>, tensor<?x1x?x8xf32>, tensor<?x1x?x8xf32>, tensor<?x1x?x?xi1>) -> tensor<?x1x?x8xf32>
        tfm.yield %o : tensor<?x1x?x8xf32>
      })");
  EXPECT_FALSE(kernel.isGeneric());
  constexpr int kSamples = 3, kQueries = 11, kKeys = 13;
  Random random;
  Array<float> q = random.array({kSamples, 1, kQueries, 8}),
               k = random.array({kSamples, 1, kKeys, 8}), out(q.shape);
  Array<int32_t> lengths(std::vector<int>{kSamples});
  lengths.data = {13, 5, 0};
  // One row for all samples and queries.
  Array<uint8_t> hidden({1, 1, 1, kKeys});
  hidden({0, 0, 0, 4}) = 1;
  kernel({q, k, kQueries, kKeys, lengths, hidden, out});
  for (int b = 0; b != kSamples; ++b)
    for (int s = 0; s != kQueries; ++s) {
      std::vector<double> expected = attend(
          kKeys, 8,
          [&](int t) {
            double sum = 0;
            for (int d = 0; d != 8; ++d)
              sum += double(q({b, 0, s, d})) * k({b, 0, t, d});
            return 0.5 * sum;
          },
          [&](int t) {
            return std::abs(s - t) < 3 && t < lengths({b}) && t != 4;
          },
          [&](int t, int d) { return k({b, 0, t, d}); });
      for (int d = 0; d != 8; ++d)
        ASSERT_NEAR(out({b, 0, s, d}), expected[d], 1e-5)
            << "sample " << b << ", query " << s;
    }
}

TEST(TextbookAttention, MaskAsAResult) {
  Kernel kernel(
      R"(tfm.kernel @k(%s: index, %t: index, %m: tensor<?x1x?x?xi1>) -> tensor<?x1x?x?xi1> {
        %w = tfm.window_mask %s by %t of 2 causal : tensor<1x1x?x?xi1>
        %n = tfm.mask_not %w : tensor<1x1x?x?xi1>
        %b = tfm.mask_and %n, %m : (tensor<1x1x?x?xi1>, tensor<?x1x?x?xi1>) -> tensor<?x1x?x?xi1>
        tfm.yield %b : tensor<?x1x?x?xi1>
      })");
  Array<uint8_t> mask({2, 1, 1, 5}), both({2, 1, 3, 5});
  mask.data = {1, 1, 1, 1, 1, 0, 1, 0, 1, 0};
  kernel({3, 5, mask, both});
  for (int b = 0; b != 2; ++b)
    for (int s = 0; s != 3; ++s)
      for (int t = 0; t != 5; ++t)
        EXPECT_EQ(both({b, 0, s, t}),
                  (t > s || t < s - 1) && mask({b, 0, 0, t}));
}

TEST(TextbookAttention, Dropout) {
  Kernel kernel(
      R"(tfm.kernel @k(%x: tensor<?x7xf32>) -> tensor<?x7xf32> {
        %y = tfm.dropout %x at 0.5 : tensor<?x7xf32>
        tfm.yield %y : tensor<?x7xf32>
      })");
  Random random;
  Array<float> x = random.array({3, 7}), y(x.shape);
  kernel({x, y});
  EXPECT_EQ(y.data, x.data);
}

TEST(TextbookAttention, BiasOverOneRow) {
  Kernel kernel(
      R"(tfm.kernel @k(%x: tensor<?x2x?x?xf32>, %b: tensor<?x1x?x?xf32>) -> tensor<?x2x?x?xf32> {
        %y = tfm.add_bias %x, %b : tensor<?x2x?x?xf32>, tensor<?x1x?x?xf32>
        tfm.yield %y : tensor<?x2x?x?xf32>
      })");
  Random random;
  Array<float> x = random.array({2, 2, 3, 5}),
               bias = random.array({1, 1, 1, 5}), y(x.shape);
  bias({0, 0, 0, 1}) = x({0, 1, 2, 3}) = -INFINITY;
  kernel({x, bias, y});
  for (int b = 0; b != 2; ++b)
    for (int h = 0; h != 2; ++h)
      for (int s = 0; s != 3; ++s)
        for (int t = 0; t != 5; ++t)
          EXPECT_EQ(y({b, h, s, t}), x({b, h, s, t}) + bias({0, 0, 0, t}));
}

TEST(TextbookAttention, RelayoutsOfHeads) {
  Kernel kernel(
      R"(tfm.kernel @k(%x: tensor<?x2x?x8xf32>) -> tensor<?x6x8x?xf32> {
        %r = tfm.repeat_heads %x by 3 : (tensor<?x2x?x8xf32>) -> tensor<?x6x?x8xf32>
        %t = tfm.transpose %r : (tensor<?x6x?x8xf32>) -> tensor<?x6x8x?xf32>
        tfm.yield %t : tensor<?x6x8x?xf32>
      })");
  Random random;
  Array<float> x = random.array({2, 2, 5, 8}), y({2, 6, 8, 5});
  kernel({x, y});
  for (int b = 0; b != 2; ++b)
    for (int h = 0; h != 6; ++h)
      for (int d = 0; d != 8; ++d)
        for (int t = 0; t != 5; ++t)
          EXPECT_EQ(y({b, h, d, t}), x({b, h / 3, t, d}));
}
