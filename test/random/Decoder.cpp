//===- Decoder.cpp - Texts through a decoder ------------------------------===//

#include "test/random/Decoder.h"

#include "test/random/Compare.h"
#include "test/random/RandomModel.h"

using namespace mlir;
using namespace mlir::tfm;

static SmallVector<int64_t> cut(int64_t length, Random &random) {
  SmallVector<int64_t> chunks;
  while (length > 0) {
    chunks.push_back(random.chance(40) ? 1 : random.integer(1, length));
    length -= chunks.back();
  }
  return chunks;
}

Schedule tfm::makeSchedule(int64_t vocabulary, Random &random) {
  Schedule schedule;
  schedule.batch = random.of<int64_t>({1, 1, 2, 3, 5});
  schedule.length = random.chance(50)
                        ? random.integer(2, 24)
                        : random.of<int64_t>({0, 1, 7, 64, kLongestText});
  for (int64_t i = 0; i != schedule.batch * schedule.length; ++i)
    schedule.tokens.push_back(random.integer(0, vocabulary - 1));
  schedule.prefix = random.integer(0, schedule.length);
  schedule.chunks = cut(schedule.prefix, random);
  schedule.laterChunks = cut(schedule.length - schedule.prefix, random);
  for (int64_t b = 0; b != schedule.batch; ++b)
    schedule.kept.push_back(random.integer(0, schedule.prefix));
  schedule.scores = random.chance(30);
  return schedule;
}

FailureOr<Array> Decoder::run(StringRef name, const Array &tokens,
                              bool isLastRow) {
  func::FuncOp function = execution.find(name);
  SmallVector<RuntimeValue> arguments = {tokens};
  if (cache)
    arguments.push_back(cache);
  Shape shape(tokens.shape);
  if (isLastRow)
    shape.pop_back();
  shape.push_back(vocabulary);
  auto results = execution.run(function, arguments, {shape});
  if (failed(results))
    return failure();
  return results->front();
}

void Decoder::createCache(int64_t positions) {
  for (Type type : execution.find("score").getArgumentTypes())
    if (auto cacheType = dyn_cast<KvCacheType>(type))
      cache = Cache::create(cacheType, schedule.batch, positions);
}

std::optional<std::string> Decoder::observe(SmallVector<Array> &observation) {
  bool isCached = static_cast<bool>(execution.find("score"));
  if (isCached)
    createCache(schedule.length);
  FailureOr<Array> rows =
      run(isCached ? "score" : "forward", schedule.all(context));
  if (failed(rows))
    return "the interpreter reports an error";
  observation = {*rows};
  return isCached ? play(*rows) : std::nullopt;
}

/// Appends one chunk, and compares its rows with those of the whole texts.
std::optional<std::string> Decoder::playChunk(ArrayRef<int64_t> first,
                                              int64_t count,
                                              const Array &expected) {
  StringRef name = schedule.scores ? "score"
                   : count == 1    ? "decode"
                                   : "prefill";
  FailureOr<Array> rows = run(name, schedule.slice(context, first, count),
                              /*isLastRow=*/!schedule.scores);
  if (failed(rows))
    return ("the interpreter reports an error in @" + name).str();
  int64_t compared = schedule.scores ? count : 1;
  Array ofWhole = Array::zeros(rows->elementType, rows->shape);
  for (int64_t b = 0; b != schedule.batch; ++b)
    for (int64_t i = 0; i != compared; ++i) {
      int64_t row = b * schedule.length + first[b] + count - compared + i;
      llvm::copy(
          expected.floats().slice(row * vocabulary, vocabulary),
          ofWhole.floats().slice((b * compared + i) * vocabulary).begin());
    }
  // The same arithmetic in the same order: the same bits.
  if (auto error = compare(ofWhole, *rows, Tolerance()))
    return ("@" + name + " from position " + Twine(first.front()) + " on, " +
            Twine(count) + " tokens, " + *error)
        .str();
  return std::nullopt;
}

std::optional<std::string> Decoder::play(const Array &expected) {
  createCache(schedule.length);
  SmallVector<int64_t> first(schedule.batch);
  auto playAll = [&](ArrayRef<int64_t> chunks) -> std::optional<std::string> {
    for (int64_t count : chunks) {
      if (auto error = playChunk(first, count, expected))
        return error;
      for (auto [b, position] : llvm::enumerate(first)) {
        position += count;
        if (cache->lengths.as<int32_t>()[b] != position)
          return "expects a cache of " + std::to_string(position) +
                 " positions";
      }
    }
    return std::nullopt;
  };
  if (auto error = playAll(schedule.chunks))
    return error;
  first = schedule.kept;
  llvm::copy(first, cache->lengths.as<int32_t>().begin());
  return playAll(schedule.laterChunks);
}
