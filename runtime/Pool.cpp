//===- Pool.cpp - The threads that run a model ----------------------------===//
//
// See Pool.h.
//
//===----------------------------------------------------------------------===//

#include "runtime/Pool.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <emmintrin.h>
#include <type_traits>

using namespace tfm;

// A launch's word: its sequence number above its count. Sequence numbers wrap;
// they are compared by their distance, as a worker is never two thousand
// million launches late.
static uint64_t pack(uint32_t sequence, uint32_t count) {
  return static_cast<uint64_t>(sequence) << 32 | count;
}
static uint32_t sequenceOf(uint64_t word) {
  return static_cast<uint32_t>(word >> 32);
}
static uint32_t countOf(uint64_t word) { return static_cast<uint32_t>(word); }
static bool isBefore(uint32_t left, uint32_t right) {
  return static_cast<int32_t>(left - right) < 0;
}

namespace {

/// Waits politely: a moment without leaving the core, then behind whoever else
/// wants it.
class Spin {
public:
  /// Returns false once waiting has gone on for long enough to sleep.
  bool wait() {
    if (rounds < pauses)
      _mm_pause();
    else
      std::this_thread::yield();
    rounds = std::min(rounds + 1, pauses + yields);
    return rounds < pauses + yields;
  }

private:
  // 20 to 50 us of pauses, then about 100 us of yields on an idle machine:
  // longer than what lies between the regions of two decoded tokens.
  static constexpr int pauses = 1000;
  static constexpr int yields = 200;
  int rounds = 0;
};

} // namespace

static_assert(std::is_trivially_copyable_v<Region> &&
              sizeof(Region) % sizeof(uint64_t) == 0);

Pool::Pool(int threads) : workers(static_cast<size_t>(threads)) {
  for (tfm_worker &worker : workers)
    worker.pool = this;
  for (size_t i = 1; i < workers.size(); ++i)
    helpers.emplace_back([this, i] { serve(workers[i]); });
}

Pool::~Pool() {
  stopping = true;
  version += 2;
  version.notify_all();
  for (std::thread &helper : helpers)
    helper.join();
}

void Pool::publish(const Region &region) {
  auto raw = std::bit_cast<std::array<uint64_t, words>>(region);
  uint32_t old = version.load(std::memory_order_relaxed);
  version.store(old + 1, std::memory_order_relaxed);
  for (int i = 0; i < words; ++i)
    published[i].store(raw[i], std::memory_order_release);
  version.store(old + 2, std::memory_order_release);
  version.notify_all();
}

bool Pool::read(uint32_t seen, Region &region) const {
  std::array<uint64_t, words> raw;
  for (int i = 0; i < words; ++i)
    raw[i] = published[i].load(std::memory_order_acquire);
  if (version.load(std::memory_order_relaxed) != seen)
    return false;
  region = std::bit_cast<Region>(raw);
  return true;
}

void Pool::serve(tfm_worker &worker) {
  uint32_t done = 0;
  while (true) {
    uint32_t seen = version.load(std::memory_order_acquire);
    for (Spin spin; seen == done;
         seen = version.load(std::memory_order_acquire))
      if (!spin.wait())
        version.wait(done, std::memory_order_acquire);
    if (stopping.load(std::memory_order_relaxed))
      return;
    if (seen % 2 != 0 || !read(seen, worker.region))
      continue;
    done = seen;
    worker.region.call.arguments = worker.region.arguments.data();
    worker.region.run(&worker, &worker.region.call);
  }
}

int32_t Pool::run(const tfm_entry_point &entry, const tfm_call &call) {
  assert(entry.argument_count <= Region::maxArguments);
  Region region = {entry.run, call, {}, nextSequence, 0};
  std::copy_n(call.arguments, entry.argument_count, region.arguments.begin());
  error.store(0, std::memory_order_relaxed);
  if (!helpers.empty())
    publish(region);

  tfm_worker &caller = workers.front();
  caller.region = region;
  caller.launchCount = 0;
  int32_t result = entry.run(&caller, &call);
  nextSequence += caller.launchCount;
  int32_t failure = error.load(std::memory_order_relaxed);
  return failure ? failure : result;
}

/// Makes `word` that of launch `sequence` unless it already is, or is past it.
static void open(std::atomic<uint64_t> &word, uint32_t sequence) {
  uint64_t old = word.load(std::memory_order_acquire);
  while (isBefore(sequenceOf(old), sequence) &&
         !word.compare_exchange_weak(old, pack(sequence, 0),
                                     std::memory_order_acq_rel,
                                     std::memory_order_acquire))
    ;
}

int32_t Pool::nextTile(tfm_worker &worker, uint32_t launch, uint32_t tiles) {
  uint32_t sequence = worker.region.firstSequence + launch;
  worker.launchCount = std::max(worker.launchCount, launch + 1);
  if (worker.holdsTile) {
    worker.holdsTile = false;
    finishes.fetch_add(1, std::memory_order_acq_rel);
  }
  if (tiles == 0)
    return -1;

  // Whoever comes first opens the launch; it knows that the one before is
  // over. Finishes go first: nothing is claimed before they count from 0.
  open(finishes, sequence);
  open(claims, sequence);

  uint64_t claim = claims.load(std::memory_order_acquire);
  while (sequenceOf(claim) == sequence && countOf(claim) < tiles) {
    // After a failure one worker takes all that is left, and does nothing.
    bool failed = error.load(std::memory_order_relaxed) != 0;
    uint32_t taken = failed ? tiles - countOf(claim) : 1;
    if (!claims.compare_exchange_weak(claim, claim + taken,
                                      std::memory_order_acq_rel,
                                      std::memory_order_acquire))
      continue;
    if (!failed) {
      worker.holdsTile = true;
      return static_cast<int32_t>(countOf(claim));
    }
    finishes.fetch_add(taken, std::memory_order_acq_rel);
    break;
  }

  Spin spin;
  for (uint64_t finish = finishes.load(std::memory_order_acquire);
       sequenceOf(finish) == sequence && countOf(finish) < tiles;
       finish = finishes.load(std::memory_order_acquire))
    spin.wait();
  return -1;
}

void Pool::fail(int32_t code) {
  int32_t none = 0;
  error.compare_exchange_strong(none, code, std::memory_order_relaxed);
}

int32_t tfm_next_tile(tfm_worker *worker, int64_t launch, int32_t tiles) {
  return worker->pool->nextTile(*worker, static_cast<uint32_t>(launch),
                                static_cast<uint32_t>(std::max(tiles, 0)));
}

void tfm_fail(tfm_worker *worker, int32_t error) { worker->pool->fail(error); }

void *tfm_kernel_context(tfm_worker *worker) { return &worker->scratch; }
