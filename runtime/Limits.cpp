//===- Limits.cpp - What this machine could do at most --------------------===//
//
// Both yardsticks run as launches on a pool, as a model's kernels do.
//
//===----------------------------------------------------------------------===//

#include "runtime/Limits.h"
#include "runtime/Cpu.h"
#include "runtime/Memory.h"
#include "runtime/Pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <unistd.h>

using namespace tfm;

/// Where results go, so that computing them cannot be left out.
static std::atomic<uint64_t> sink;

/// Seconds of the fastest of `runs` regions.
static double timeBest(Pool &pool, int runs,
                       int32_t (*run)(tfm_worker *, const tfm_call *),
                       void *argument) {
  tfm_entry_point entry = {"measure", run, 1, nullptr, 0, 0, 0};
  tfm_call call = {1, 1, &argument, nullptr, nullptr, nullptr};
  double best = 1e9;
  for (int i = 0; i < runs; ++i) {
    auto start = std::chrono::steady_clock::now();
    pool.run(entry, call);
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Reading memory
//===----------------------------------------------------------------------===//

namespace {
struct Block {
  static constexpr uint64_t tileBytes = 1 << 20;
  char *data;
  int32_t tiles;
};
} // namespace

static int32_t fillTiles(tfm_worker *worker, const tfm_call *call) {
  auto &block = *static_cast<Block *>(call->arguments[0]);
  for (int32_t tile; (tile = tfm_next_tile(worker, 0, block.tiles)) >= 0;)
    std::memset(block.data + tile * Block::tileBytes, 1, Block::tileBytes);
  return 0;
}

static int32_t readTiles(tfm_worker *worker, const tfm_call *call) {
  using Vector [[gnu::vector_size(16)]] = uint64_t;
  auto &block = *static_cast<Block *>(call->arguments[0]);
  for (int32_t tile; (tile = tfm_next_tile(worker, 0, block.tiles)) >= 0;) {
    auto *vectors =
        reinterpret_cast<const Vector *>(block.data + tile * Block::tileBytes);
    Vector sums[8] = {};
    for (size_t i = 0; i < Block::tileBytes / sizeof(Vector); i += 8)
      for (size_t j = 0; j < 8; ++j)
        sums[j] += vectors[i + j];
    Vector sum = {};
    for (Vector part : sums)
      sum += part;
    sink += sum[0] + sum[1];
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// Multiplying and adding
//===----------------------------------------------------------------------===//

namespace {
struct Work {
  static constexpr int32_t tiles = 256;
  static constexpr int rounds = 20000;
  static constexpr int sums = 12; ///< enough to fill two units of 5 cycles
  /// Of one tile.
  float (*compute)(float factor);
  int width;
};
} // namespace

/// Inlined into functions for one instruction set each, which decides what the
/// vectors and the contracted multiply-adds become.
template <int width>
[[gnu::always_inline]] static inline float multiplyAdd(float factor) {
  using Vector [[gnu::vector_size(width * sizeof(float))]] = float;
  Vector sums[Work::sums] = {};
  for (int round = 0; round < Work::rounds; ++round)
    for (Vector &sum : sums)
      sum = sum * factor + 1.f;
  float total = 0;
  for (Vector sum : sums)
    total += sum[0];
  return total;
}

static float computeBaseline(float factor) { return multiplyAdd<4>(factor); }
[[gnu::target("avx2,fma")]] static float computeAvx2(float factor) {
  return multiplyAdd<8>(factor);
}
[[gnu::target("avx512f")]] static float computeAvx512(float factor) {
  return multiplyAdd<16>(factor);
}

static Work chooseWork() {
  uint32_t features = detectCpuFeatures();
  if (features & TFM_CPU_AVX512)
    return {computeAvx512, 16};
  if (features & TFM_CPU_AVX2)
    return {computeAvx2, 8};
  return {computeBaseline, 4};
}

static int32_t computeTiles(tfm_worker *worker, const tfm_call *call) {
  auto &work = *static_cast<Work *>(call->arguments[0]);
  while (tfm_next_tile(worker, 0, Work::tiles) >= 0)
    sink += static_cast<uint64_t>(work.compute(0.5f));
  return 0;
}

Error tfm::measureLimits(int threads, Limits &limits) {
  // Declared before the pool: its threads may read them until they end.
  Work work = chooseWork();
  Mapping memory;
  uint64_t bytes =
      std::max<int64_t>(int64_t(256) << 20, 4 * sysconf(_SC_LEVEL3_CACHE_SIZE));
  if (Error error = Mapping::allocate(bytes, PageSize::Huge,
                                      "measuring the memory", memory))
    return error;
  Block block = {memory.data(), static_cast<int32_t>(bytes / Block::tileBytes)};

  Pool pool(threads);
  timeBest(pool, 1, fillTiles, &block);
  limits.readBytesPerSecond = block.tiles * double(Block::tileBytes) /
                              timeBest(pool, 5, readTiles, &block);
  limits.flopsPerSecond = 2.0 * Work::tiles * Work::rounds * Work::sums *
                          work.width / timeBest(pool, 5, computeTiles, &work);
  return {};
}
