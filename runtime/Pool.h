//===- Pool.h - The threads that run a model --------------------*- C++ -*-===//
//
// Every worker of a parallel region runs the same generated function from its
// start to its end; the tiles of each launch in it are shared out one by one
// through `tfm_next_tile`.
//
// The state of the running launch is two words, each a sequence number and a
// count: `claims` (tiles handed out) and `finishes` (tiles done). A launch has
// the number of its region plus its own within it, so numbers only grow and a
// compare-exchange against an older launch's word fails. From this follows
// what the pool promises:
//
//  - A worker that wakes late, or is taken off its core, never gets a tile of
//    a launch that is over; it runs through the region empty-handed.
//  - A barrier waits for the tiles that were claimed and for nothing else, so
//    nobody is held up by a worker that holds none.
//
// A late worker may still be inside `run` when the region is over. It works on
// copies of the `tfm_call` and its array of argument pointers; what those point
// to it may read outside of tiles only if it outlives the pool unchanged, as
// the session's cache views do.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_POOL_H
#define TFM_RUNTIME_POOL_H

#include "runtime/Scratch.h"
#include "runtime/include/tfm.h"
#include "runtime/include/tfm_abi.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace tfm {

class Pool;

/// What a region's workers need to know.
struct Region {
  static constexpr int maxArguments = TFM_MAX_TENSORS;

  int32_t (*run)(tfm_worker *worker, const tfm_call *call) = nullptr;
  tfm_call call = {};
  std::array<void *, maxArguments> arguments = {};
  uint32_t firstSequence = 0;
  uint32_t padding = 0; ///< so that every byte of a region has a value
};

} // namespace tfm

/// One thread's place in the pool; kept away from its neighbours' cache lines.
struct alignas(128) tfm_worker {
  tfm::Pool *pool = nullptr;
  tfm::Region region;
  uint32_t launchCount = 0; ///< launches met in this region
  bool holdsTile = false;
  tfm::Scratch scratch;
};

namespace tfm {

class Pool {
public:
  /// `threads` >= 1, the caller of `run` included.
  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  int threads() const { return static_cast<int>(workers.size()); }

  /// Runs one region on all workers, the calling thread among them, and
  /// returns what `entry.run` or `tfm_fail` gave, 0 if all went well. Called
  /// by one thread at a time. `entry` has at most `Region::maxArguments`.
  int32_t run(const tfm_entry_point &entry, const tfm_call &call);

  /// What the three functions of tfm_abi.h do.
  int32_t nextTile(tfm_worker &worker, uint32_t launch, uint32_t tiles);
  void fail(int32_t code);

private:
  static constexpr int words = sizeof(Region) / sizeof(uint64_t);

  void serve(tfm_worker &worker);
  void publish(const Region &region);
  bool read(uint32_t version, Region &region) const;

  std::vector<tfm_worker> workers; ///< the caller's first
  std::vector<std::thread> helpers;
  uint32_t nextSequence = 1;

  // The published region, word by word so that it can be read while it is
  // replaced; `version` is odd in between (a sequence lock).
  alignas(128) std::atomic<uint32_t> version = 0;
  std::array<std::atomic<uint64_t>, words> published = {};
  std::atomic<bool> stopping = false;

  alignas(128) std::atomic<uint64_t> claims = 0;
  alignas(128) std::atomic<uint64_t> finishes = 0;
  alignas(128) std::atomic<int32_t> error = 0;
};

} // namespace tfm

#endif // TFM_RUNTIME_POOL_H
