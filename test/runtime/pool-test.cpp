//===- pool-test.cpp - The threads that run a model -----------------------===//
//
// Regions of many launches on pools of 1 to 8 threads, more than most test
// machines have cores, so that workers are late and taken off their cores.
//
//===----------------------------------------------------------------------===//

#include "runtime/Pool.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>
#include <vector>

using namespace tfm;

namespace {

/// Launch l of `launches` computes row l from row l - 1; `tiles[l]` tiles, each
/// adding up the whole row before it. The rows are plain memory: order comes
/// from the barriers alone.
struct Rows {
  std::vector<int32_t> tiles;
  std::vector<std::vector<uint64_t>> rows;
  std::vector<std::vector<std::atomic<int>>> runs;

  explicit Rows(std::vector<int32_t> tiles) : tiles(std::move(tiles)) {
    for (int32_t count : this->tiles) {
      rows.emplace_back(count);
      runs.emplace_back(count);
    }
  }

  static int32_t run(tfm_worker *worker, const tfm_call *call) {
    auto &self = *static_cast<Rows *>(call->arguments[0]);
    for (size_t launch = 0; launch < self.tiles.size(); ++launch)
      for (int32_t tile;
           (tile = tfm_next_tile(worker, launch, self.tiles[launch])) >= 0;)
        self.compute(launch, tile);
    return 0;
  }

  void compute(size_t launch, int32_t tile) {
    runs[launch][tile].fetch_add(1, std::memory_order_relaxed);
    uint64_t sum = static_cast<uint64_t>(tile) + 1;
    for (size_t before = launch; before-- > 0;) {
      if (rows[before].empty())
        continue;
      sum += std::accumulate(rows[before].begin(), rows[before].end(),
                             uint64_t(0));
      break;
    }
    rows[launch][tile] = sum;
  }
};

constexpr tfm_entry_point makeEntry(int32_t (*run)(tfm_worker *,
                                                   const tfm_call *)) {
  return {"test", run, 1, nullptr, 0, 0, 0};
}

int32_t runOn(Pool &pool, int32_t (*run)(tfm_worker *, const tfm_call *),
              void *argument) {
  tfm_call call = {1, 1, &argument, nullptr, nullptr, nullptr};
  return pool.run(makeEntry(run), call);
}

class PoolTest : public testing::TestWithParam<int> {};

} // namespace

TEST_P(PoolTest, RunsEveryTileOnceAndLaunchesInOrder) {
  std::vector<int32_t> tiles;
  for (int launch = 0; launch < 60; ++launch)
    tiles.push_back((launch * 7) % 13); // 0 among them
  Rows expected(tiles);
  for (size_t launch = 0; launch < tiles.size(); ++launch)
    for (int32_t tile = 0; tile < tiles[launch]; ++tile)
      expected.compute(launch, tile);

  Rows work(tiles);
  Pool pool(GetParam());
  constexpr int regions = 200;
  for (int region = 0; region < regions; ++region) {
    ASSERT_EQ(runOn(pool, Rows::run, &work), 0);
    ASSERT_EQ(work.rows, expected.rows) << "region " << region;
    for (std::vector<uint64_t> &row : work.rows)
      std::fill(row.begin(), row.end(), 0);
    if (region % 50 == 0) // long enough for the helpers to fall asleep
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  for (const auto &launch : work.runs)
    for (const std::atomic<int> &runs : launch)
      ASSERT_EQ(runs, regions);
}

TEST_P(PoolTest, ReturnsWhatATileFailedWithAndRecovers) {
  struct Failing {
    std::atomic<int> later = 0;
    static int32_t run(tfm_worker *worker, const tfm_call *call) {
      auto &self = *static_cast<Failing *>(call->arguments[0]);
      for (int32_t tile; (tile = tfm_next_tile(worker, 0, 100)) >= 0;)
        if (tile == 37)
          tfm_fail(worker, -23);
      while (tfm_next_tile(worker, 1, 1000) >= 0)
        ++self.later;
      return 0;
    }
  } failing;
  Rows work({3, 5});
  Pool pool(GetParam());
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(runOn(pool, Failing::run, &failing), -23);
    EXPECT_EQ(failing.later, 0);
    EXPECT_EQ(runOn(pool, Rows::run, &work), 0);
  }
  EXPECT_EQ(work.runs[1][4], 50);
}

TEST_P(PoolTest, RunsARegionWithoutLaunches) {
  Rows work({});
  Pool pool(GetParam());
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(runOn(pool, Rows::run, &work), 0);
}

INSTANTIATE_TEST_SUITE_P(Threads, PoolTest, testing::Values(1, 2, 3, 4, 8));

// A helper that is stopped before its first tile holds nobody up, in its own
// region or in later ones, and gets no tile once it goes on.
TEST(LateWorkerTest, GetsNothing) {
  struct Late {
    std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> stopped = 0;
    std::atomic<int> lateTiles = 0;
    std::atomic<bool> goOn = false;
    std::atomic<int> ended = 0;

    static int32_t run(tfm_worker *worker, const tfm_call *call) {
      auto &self = *static_cast<Late *>(call->arguments[0]);
      bool late = std::this_thread::get_id() != self.caller;
      if (late) {
        ++self.stopped;
        self.goOn.wait(false);
      } else { // the helper is inside the region before it starts
        while (self.stopped == 0)
          std::this_thread::yield();
      }
      for (int64_t launch = 0; launch < 3; ++launch)
        while (tfm_next_tile(worker, launch, 4) >= 0)
          self.lateTiles += late;
      self.ended += late;
      return 0;
    }
  } late;
  Rows work({4, 9, 2});
  Pool pool(2);
  ASSERT_EQ(runOn(pool, Late::run, &late), 0);
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(runOn(pool, Rows::run, &work), 0);
  late.goOn = true;
  late.goOn.notify_all();
  while (late.ended == 0)
    ASSERT_EQ(runOn(pool, Rows::run, &work), 0);
  EXPECT_EQ(late.lateTiles, 0);
}

TEST(ScratchTest, ReusesAndGrows) {
  Scratch scratch;
  void *first = scratch.allocate(1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % Scratch::alignment, 0u);
  void *large = scratch.allocate(1 << 20); // does not fit beside the first
  std::memset(large, 1, 1 << 20);
  scratch.release(large);
  scratch.release(first);

  first = scratch.allocate(1000);
  large = scratch.allocate(1 << 20);
  auto distance = static_cast<char *>(large) - static_cast<char *>(first);
  EXPECT_GE(distance, 1000);
  EXPECT_LT(distance, 1 << 20) << "both are on the stack now";
  scratch.release(large);

  void *second = scratch.allocate(8);
  scratch.release(first); // out of order
  void *third = scratch.allocate(8);
  EXPECT_NE(third, first) << "the stack is not popped below a live block";
  scratch.release(third);
  scratch.release(second);
  EXPECT_EQ(scratch.allocate(8), first) << "everything was released";
  scratch.release(first);
}
