//===- Generate.cpp - Continuing prompts ----------------------------------===//
//
// Prompts are prefilled one by one into free samples and decoded together.
// Live samples stay at the front of the cache: when one ends, the last takes
// its place, and the next prompt starts behind them.
//
//===----------------------------------------------------------------------===//

#include "runtime/Sampler.h"
#include "runtime/Session.h"

#include <utility>

using namespace tfm;

namespace {

/// A prompt that is being continued; number i is sample i of the session.
struct Live {
  size_t prompt;
  Sampler sampler;
  StreamDecoder decoder;
  int32_t lastId = -1;
  int32_t newTokens = 0;
};

class Generation {
public:
  Generation(Session &session, std::span<const tfm_prompt> prompts,
             int32_t maxNewTokens, const tfm_sampling &sampling,
             tfm_token_callback callback, void *user)
      : session(session), model(session.getProgram().model()), prompts(prompts),
        maxNewTokens(maxNewTokens), sampling(sampling), callback(callback),
        user(user),
        logits(static_cast<size_t>(session.batch()) * model.vocabulary) {}

  Error run();

private:
  Error start();
  Error step();
  Error choose(Live &entry, std::span<float> row, bool &finished);
  void finish(size_t prompt, tfm_stop stop);
  void report(const tfm_token &token) {
    cancelled |= callback(user, &token) != 0;
  }
  std::span<float> row(size_t i) {
    size_t vocabulary = static_cast<size_t>(model.vocabulary);
    return {logits.data() + i * vocabulary, vocabulary};
  }

  Session &session;
  const tfm_model &model;
  std::span<const tfm_prompt> prompts;
  int32_t maxNewTokens;
  const tfm_sampling &sampling;
  tfm_token_callback callback;
  void *user;

  size_t nextPrompt = 0;
  std::vector<Live> live;
  std::vector<float> logits; ///< [batch, V]
  bool cancelled = false;
};

} // namespace

/// Ends a prompt without a further token.
void Generation::finish(size_t prompt, tfm_stop stop) {
  report({prompt, -1, "", 0, 1, stop});
}

/// Chooses the token that follows `row`, reports it, and says whether it is the
/// last.
Error Generation::choose(Live &entry, std::span<float> row, bool &finished) {
  int32_t id = entry.sampler.sample(row);
  if (id < 0)
    return std::string("the model gave no logit that is a number");
  entry.sampler.accept(id);
  entry.lastId = id;
  ++entry.newTokens;

  tfm_token token = {entry.prompt, id, nullptr, 0, 1, TFM_STOP_EOS};
  uint64_t total = prompts[entry.prompt].count + entry.newTokens;
  if (id == model.eos_token)
    token.stop = TFM_STOP_EOS;
  else if (entry.newTokens == maxNewTokens)
    token.stop = TFM_STOP_LENGTH;
  else if (total == static_cast<uint64_t>(session.context()))
    token.stop = TFM_STOP_CONTEXT;
  else
    token.finished = 0;
  std::string_view text = entry.decoder.append(id, token.finished);
  token.text = text.data();
  token.bytes = text.size();
  finished = token.finished;
  report(token);
  return {};
}

/// Prefills the next prompt into the first free sample.
Error Generation::start() {
  size_t index = nextPrompt;
  const tfm_prompt &prompt = prompts[index];
  int32_t sample = static_cast<int32_t>(live.size());
  bool full = prompt.count == static_cast<size_t>(session.context());
  if (full || maxNewTokens == 0) {
    ++nextPrompt;
    finish(index, full ? TFM_STOP_CONTEXT : TFM_STOP_LENGTH);
    return {};
  }
  if (Error error = session.reset(sample))
    return error;
  std::span ids(prompt.ids, prompt.count);
  if (Error error = session.prefill(sample, ids, logits.data()))
    return error;
  ++nextPrompt;
  live.push_back({index, Sampler(sampling, model.vocabulary),
                  StreamDecoder(session.getProgram().tokenizer())});
  for (int32_t id : ids)
    live.back().sampler.accept(id);
  bool finished;
  if (Error error = choose(live.back(), row(0), finished))
    return error;
  if (finished)
    live.pop_back();
  return {};
}

/// Decodes one token for each live prompt.
Error Generation::step() {
  std::vector<int32_t> ids;
  for (const Live &entry : live)
    ids.push_back(entry.lastId);
  if (Error error = session.decode(ids, logits.data()))
    return error;
  std::vector<bool> finished(live.size());
  for (size_t i = 0; i < live.size() && !cancelled; ++i) {
    bool last;
    if (Error error = choose(live[i], row(i), last))
      return error;
    finished[i] = last;
  }
  // From the back, so that the one that moves is live.
  for (size_t i = live.size(); i-- > 0;) {
    if (!finished[i])
      continue;
    if (i + 1 != live.size()) {
      session.copy(static_cast<int32_t>(live.size() - 1),
                   static_cast<int32_t>(i));
      std::swap(live[i], live.back());
    }
    live.pop_back();
  }
  return {};
}

Error Generation::run() {
  while (nextPrompt < prompts.size() || !live.empty()) {
    bool room = live.size() < static_cast<size_t>(session.batch());
    Error error = room && nextPrompt < prompts.size() ? start() : step();
    if (cancelled || session.cancelled())
      break;
    if (error)
      return error;
  }
  for (const Live &entry : live)
    finish(entry.prompt, TFM_STOP_CANCELLED);
  for (; nextPrompt < prompts.size(); ++nextPrompt)
    finish(nextPrompt, TFM_STOP_CANCELLED);
  return {};
}

Error tfm::generate(Session &session, std::span<const tfm_prompt> prompts,
                    int32_t maxNewTokens, const tfm_sampling &sampling,
                    tfm_token_callback callback, void *user) {
  if (maxNewTokens < 0)
    return "expects a number of new tokens of at least 0, but got " +
           std::to_string(maxNewTokens);
  if (Error error = Sampler::check(sampling))
    return error;
  for (size_t i = 0; i < prompts.size(); ++i)
    if (Error error = session.checkPrompt({prompts[i].ids, prompts[i].count}))
      return prompts.size() == 1
                 ? error
                 : "prompt " + std::to_string(i + 1) + ": " + error.message();
  return Generation(session, prompts, maxNewTokens, sampling, callback, user)
      .run();
}
