//===- Session.cpp - A cache and the threads that fill it -----------------===//
//
// See Session.h.
//
//===----------------------------------------------------------------------===//

#include "runtime/Session.h"
#include "runtime/Cpu.h"
#include "runtime/Sampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <numeric>

using namespace tfm;

static int64_t elementBytes(int32_t element) {
  return element == TFM_ELEMENT_F16 ? 2 : 4;
}

/// UINT64_MAX, which no allocation survives, if the product is too large.
static uint64_t multiply(std::initializer_list<int64_t> factors) {
  uint64_t product = 1;
  for (int64_t factor : factors)
    if (__builtin_mul_overflow(product, static_cast<uint64_t>(factor),
                               &product))
      return UINT64_MAX;
  return product;
}

static Error checkRange(const char *what, int32_t value, int32_t most) {
  if (value >= 1 && value <= most)
    return {};
  return "expects " + std::string(what) + " from 1 to " + std::to_string(most) +
         ", but got " + std::to_string(value);
}

Error Session::create(const tfm_session_options &options) {
  auto orDefault = [](int32_t value, int32_t standard) {
    return value == 0 ? standard : value;
  };
  int32_t batch = orDefault(options.batch, 1);
  int32_t threads = orDefault(options.threads, countUsableCores());
  contextTokens = orDefault(options.context, program.model().context);
  prefillChunk = orDefault(options.prefill_chunk, TFM_PREFILL_CHUNK);
  if (Error error = checkRange("a batch", batch, 4096))
    return error;
  if (Error error =
          checkRange("a context", contextTokens, program.model().context))
    return error;
  if (Error error = checkRange("a number of threads", threads, 1024))
    return error;
  if (Error error = checkRange("a prefill chunk", prefillChunk, 1 << 16))
    return error;
  prefillChunk = std::min(prefillChunk, contextTokens);
  lengths.assign(batch, 0);
  if (Error error = allocate())
    return error;
  pool.emplace(threads);
  return {};
}

/// Bytes of the arena for a call on `samples` samples with `rows` rows in all.
static uint64_t countArenaBytes(const tfm_entry_point &entry, int64_t samples,
                                int64_t rows) {
  uint64_t perRow = multiply({entry.arena_per_row, rows});
  uint64_t perSample = multiply({entry.arena_per_sample, samples});
  uint64_t bytes;
  if (__builtin_add_overflow(perRow, perSample, &bytes) ||
      __builtin_add_overflow(bytes, entry.arena_fixed, &bytes))
    return UINT64_MAX;
  return bytes;
}

Error Session::allocate() {
  const tfm_cache_shape &shape = program.model().cache;
  int64_t capacity = batch();
  int64_t positions = (int64_t(contextTokens) + TFM_CACHE_TILE - 1) /
                      TFM_CACHE_TILE * TFM_CACHE_TILE;
  int64_t perHead = positions * elementBytes(shape.element);
  if (Error error =
          Mapping::allocate(multiply({shape.layers, capacity, shape.heads,
                                      perHead, shape.key_size}),
                            PageSize::Small, "the cache", keys))
    return error;
  if (Error error =
          Mapping::allocate(multiply({shape.layers, capacity, shape.heads,
                                      perHead, shape.value_size}),
                            PageSize::Small, "the cache", values))
    return error;
  for (int32_t sample = 0; sample < batch(); ++sample) {
    int64_t heads = int64_t(sample) * shape.heads * perHead;
    views.push_back({keys.data() + heads * shape.key_size,
                     values.data() + heads * shape.value_size,
                     lengths.data() + sample, capacity, positions});
  }

  uint64_t arenaBytes = 0;
  auto reserve = [&](const char *name, int64_t samples, int64_t rows) {
    if (const tfm_entry_point *entry = program.findEntryPoint(name))
      arenaBytes = std::max(arenaBytes, countArenaBytes(*entry, samples, rows));
  };
  reserve("prefill", 1, prefillChunk);
  reserve("decode", batch(), batch());
  reserve("score", 1, scoreChunk());
  reserve("embed", batch(), embedRows());
  return Mapping::allocate(arenaBytes, PageSize::Huge, "the arena", arena);
}

Error Session::checkSample(int32_t sample) const {
  if (sample >= 0 && sample < batch())
    return {};
  return "expects a sample below " + std::to_string(batch()) + ", but got " +
         std::to_string(sample);
}

Error Session::checkTokens(int64_t held, std::span<const int32_t> ids) const {
  if (ids.empty())
    return std::string("expects at least 1 token, but got none");
  uint64_t total = static_cast<uint64_t>(held) + ids.size();
  if (total > static_cast<uint64_t>(contextTokens))
    return "expects at most " + std::to_string(contextTokens) +
           " tokens, the context, but got " + std::to_string(total);
  for (int32_t id : ids)
    if (id < 0 || id >= program.model().vocabulary)
      return "expects token ids from 0 to " +
             std::to_string(program.model().vocabulary - 1) + ", but got " +
             std::to_string(id);
  return {};
}

Error Session::checkPrompt(std::span<const int32_t> ids) const {
  return checkTokens(0, ids);
}

/// Runs entry point `name` on the samples `sample` .. `sample` + `batch` - 1,
/// each with ids.size() / batch new tokens.
Error Session::call(const char *name, int32_t sample, int64_t batch,
                    std::span<const int32_t> ids, float *result) {
  const tfm_entry_point *entry = program.findEntryPoint(name);
  if (!entry)
    return "the model has no entry point '" + std::string(name) + "'";
  if (cancelled())
    return std::string("cancelled");
  std::array<void *, Region::maxArguments> arguments;
  for (int32_t i = 0; i < entry->argument_count; ++i) {
    switch (entry->arguments[i].role) {
    case TFM_ROLE_INPUT:
      arguments[i] = const_cast<int32_t *>(ids.data());
      break;
    case TFM_ROLE_CACHE:
      arguments[i] = &views[sample];
      break;
    case TFM_ROLE_OUTPUT:
      arguments[i] = result;
      break;
    }
  }
  tfm_call call = {batch,
                   static_cast<int64_t>(ids.size()) / batch,
                   arguments.data(),
                   arena.data(),
                   program.weights(),
                   program.target().kernels};
  if (int32_t code = pool->run(*entry, call))
    return "a kernel of '" + std::string(name) + "' failed with code " +
           std::to_string(code);
  return {};
}

Error Session::prefill(int32_t sample, std::span<const int32_t> ids,
                       float *logits) {
  if (Error error = checkSample(sample))
    return error;
  if (Error error = checkTokens(lengths[sample], ids))
    return error;
  while (!ids.empty()) {
    size_t chunk = std::min<size_t>(ids.size(), prefillChunk);
    if (Error error = call("prefill", sample, 1, ids.first(chunk), logits))
      return error;
    ids = ids.subspan(chunk);
  }
  return {};
}

Error Session::decode(std::span<const int32_t> ids, float *logits) {
  if (Error error = checkSample(static_cast<int32_t>(ids.size()) - 1))
    return error;
  for (size_t i = 0; i < ids.size(); ++i)
    if (Error error = checkTokens(lengths[i], ids.subspan(i, 1)))
      return error;
  return call("decode", 0, static_cast<int64_t>(ids.size()), ids, logits);
}

/// log softmax(logits)[id].
static double logProbability(std::span<const float> logits, int32_t id) {
  double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float logit : logits)
    sum += std::exp(logit - largest);
  return logits[id] - largest - std::log(sum);
}

int32_t Session::scoreChunk() const {
  return std::min(prefillChunk, TFM_SCORE_CHUNK);
}

Error Session::score(int32_t sample, std::span<const int32_t> ids,
                     double *logprobs, int32_t *argmax) {
  if (Error error = checkSample(sample))
    return error;
  if (Error error = checkTokens(lengths[sample], ids))
    return error;
  size_t vocabulary = static_cast<size_t>(program.model().vocabulary);
  if (!scoreLogits.data())
    if (Error error =
            Mapping::allocate(scoreChunk() * vocabulary * sizeof(float),
                              PageSize::Huge, "logits", scoreLogits))
      return error;
  float *logits = reinterpret_cast<float *>(scoreLogits.data());
  for (size_t start = 0; start < ids.size(); start += scoreChunk()) {
    size_t chunk = std::min<size_t>(ids.size() - start, scoreChunk());
    if (Error error =
            call("score", sample, 1, ids.subspan(start, chunk), logits))
      return error;
    for (size_t i = 0; i < chunk; ++i) {
      std::span row(logits + i * vocabulary, vocabulary);
      size_t token = start + i;
      argmax[token] = findLargest(row);
      if (token + 1 < ids.size())
        logprobs[token] = logProbability(row, ids[token + 1]);
    }
  }
  return {};
}

/// "2x3", where −1 stands for any.
static std::string describeShape(std::span<const int64_t> dims) {
  std::string text;
  for (int64_t dim : dims)
    text += (text.empty() ? "" : "x") + (dim < 0 ? "?" : std::to_string(dim));
  return text.empty() ? "one number" : text;
}

static const char *nameOf(int32_t dtype) {
  constexpr const char *names[] = {"f32", "f16", "i32", "i8"};
  return dtype >= 0 && dtype < 4 ? names[dtype] : "an unknown type";
}

/// Checks an input against what a function wants; `batch` and `length` are
/// those of the inputs before it, −1 where none says.
static Error checkInput(const tfm_argument &wanted, const tfm_tensor &given,
                        int64_t &batch, int64_t &length) {
  std::string name = "input '" + std::string(wanted.name) + "'";
  if (given.dtype != wanted.element)
    return name + ": expects " + nameOf(wanted.element) + ", but got " +
           nameOf(given.dtype);
  std::vector<int64_t> dims(wanted.dims, wanted.dims + wanted.rank);
  bool matches = given.rank == wanted.rank;
  for (int32_t i = 0; matches && i < wanted.rank; ++i) {
    if (dims[i] < 0) {
      int64_t &known = dims[i] == TFM_DIM_BATCH ? batch : length;
      if (known < 0)
        known = given.dims[i];
      dims[i] = known;
    }
  }
  for (int32_t i = 0; matches && i < wanted.rank; ++i)
    matches = given.dims[i] == dims[i];
  if (matches)
    return {};
  return name + ": expects shape " + describeShape(dims) + ", but got " +
         describeShape({given.dims, static_cast<size_t>(given.rank)});
}

Error Session::run(std::string_view function,
                   std::span<const tfm_tensor> inputs, tfm_tensor *results) {
  const tfm_entry_point *entry = nullptr;
  for (size_t i = 0; const tfm_entry_point *other = program.findFunction(i);
       ++i)
    if (other->name == function)
      entry = other;
  if (!entry)
    return "the model has no function '" + std::string(function) + "'";
  std::span wanted(entry->arguments, entry->argument_count);

  std::array<void *, Region::maxArguments> arguments;
  int64_t batch = -1, length = -1;
  // What the arena's formula calls B and B · S: of the first argument, also
  // where these are known to generated code.
  int64_t samples = 1, rows = 1;
  size_t used = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].role != TFM_ROLE_INPUT)
      continue;
    auto given = std::find_if(
        inputs.begin(), inputs.end(), [&](const tfm_tensor &input) {
          return std::string_view(input.name) == wanted[i].name;
        });
    if (given == inputs.end())
      return "expects an input '" + std::string(wanted[i].name) +
             "', but got none";
    if (Error error = checkInput(wanted[i], *given, batch, length))
      return error;
    arguments[i] = given->data;
    if (used++ == 0) {
      samples = given->dims[0];
      rows = static_cast<int64_t>(multiply({samples, given->dims[1]}));
    }
  }
  if (used != inputs.size())
    return "expects " + std::to_string(used) + " inputs, but got " +
           std::to_string(inputs.size());
  // Of a function of known sizes there is one sample.
  batch = std::max<int64_t>(batch, 1);
  length = std::max<int64_t>(length, 1);

  outputs.clear();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].role != TFM_ROLE_OUTPUT)
      continue;
    tfm_tensor &result = *results++;
    result = {wanted[i].name, wanted[i].element, wanted[i].rank, {}, {}};
    uint64_t bytes = elementBytes(wanted[i].element);
    for (int32_t d = 0; d < wanted[i].rank; ++d) {
      int64_t dim = wanted[i].dims[d];
      result.dims[d] = dim == TFM_DIM_BATCH    ? batch
                       : dim == TFM_DIM_LENGTH ? length
                                               : dim;
      bytes = multiply({static_cast<int64_t>(bytes), result.dims[d]});
    }
    if (Error error = Mapping::allocate(bytes, PageSize::Huge, "an output",
                                        outputs.emplace_back()))
      return error;
    arguments[i] = result.data = outputs.back().data();
  }
  Mapping scratch;
  if (Error error = Mapping::allocate(countArenaBytes(*entry, samples, rows),
                                      PageSize::Huge, "the arena", scratch))
    return error;
  tfm_call call = {batch,
                   length,
                   arguments.data(),
                   scratch.data(),
                   program.weights(),
                   program.target().kernels};
  if (int32_t code = pool->run(*entry, call))
    return "a kernel of '" + std::string(function) + "' failed with code " +
           std::to_string(code);
  return {};
}

/// The most tokens of all samples of a call: enough for the widest products.
int32_t Session::embedRows() const { return std::max(contextTokens, 512); }

Error Session::embed(std::span<const tfm_prompt> texts, float *embeddings) {
  for (const tfm_prompt &text : texts)
    if (Error error = checkPrompt({text.ids, text.count}))
      return error;
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(texts[a].count, a) < std::pair(texts[b].count, b);
  });

  auto size = static_cast<size_t>(program.embeddingSize());
  std::vector<int32_t> ids;
  std::vector<float> results;
  for (std::span<const size_t> rest = order; !rest.empty();) {
    size_t length = texts[rest[0]].count, count = 0;
    size_t most = std::min<size_t>(embedRows() / length, lengths.size());
    ids.clear();
    while (count < std::min(most, rest.size()) &&
           texts[rest[count]].count == length) {
      const int32_t *text = texts[rest[count++]].ids;
      ids.insert(ids.end(), text, text + length);
    }
    results.resize(count * size);
    if (Error error =
            call("embed", 0, static_cast<int64_t>(count), ids, results.data()))
      return error;
    for (size_t i = 0; i < count; ++i)
      std::copy_n(&results[i * size], size, embeddings + rest[i] * size);
    rest = rest.subspan(count);
  }
  return {};
}

Error Session::reset(int32_t sample) {
  if (Error error = checkSample(sample))
    return error;
  lengths[sample] = 0;
  return {};
}

/// Copies the used part of each head of one sample's `kind` to another's.
/// `perPosition`: bytes of one position of one head.
static void copyHeads(char *from, char *to, const tfm_cache_shape &shape,
                      int64_t capacity, int64_t positions, int64_t used,
                      int64_t perPosition) {
  int64_t head = positions * perPosition;
  for (int64_t layer = 0; layer < shape.layers; ++layer)
    for (int64_t i = 0; i < shape.heads; ++i) {
      int64_t offset = (layer * capacity * shape.heads + i) * head;
      std::memcpy(to + offset, from + offset, used * perPosition);
    }
}

void Session::copy(int32_t from, int32_t to) {
  const tfm_cache_shape &shape = program.model().cache;
  const tfm_cache &source = views[from], &target = views[to];
  int64_t element = elementBytes(shape.element);
  // Keys lie in whole tiles, so the last one goes along whole.
  int64_t used = (int64_t(lengths[from]) + TFM_CACHE_TILE - 1) /
                 TFM_CACHE_TILE * TFM_CACHE_TILE;
  copyHeads(static_cast<char *>(source.keys), static_cast<char *>(target.keys),
            shape, source.capacity, source.context, used,
            element * shape.key_size);
  copyHeads(static_cast<char *>(source.values),
            static_cast<char *>(target.values), shape, source.capacity,
            source.context, used, element * shape.value_size);
  lengths[to] = lengths[from];
}
