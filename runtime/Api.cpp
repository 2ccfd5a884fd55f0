//===- Api.cpp - The C functions of tfm.h ---------------------------------===//
//
// Turns the runtime's errors into return codes and messages.
//
//===----------------------------------------------------------------------===//

#include "runtime/Program.h"
#include "runtime/Session.h"
#include "runtime/include/tfm.h"

#include <algorithm>
#include <string>

using namespace tfm;

struct tfm_program {
  Program program;
};

struct tfm_session {
  explicit tfm_session(const tfm_program &program) : session(program.program) {}
  Session session;
};

static thread_local std::string lastError;

static int finish(const Error &error) {
  lastError = error.message();
  return error ? -1 : 0;
}

/// Ends a call that may have been cancelled.
static int finish(tfm_session *session, const Error &error) {
  session->session.clearCancelled();
  return finish(error);
}

const char *tfm_error(void) { return lastError.c_str(); }

int tfm_open(tfm_program **program) {
  auto opened = std::make_unique<tfm_program>();
  Error error = opened->program.open(tfm_model_descriptor);
  *program = error ? nullptr : opened.release();
  return finish(error);
}

void tfm_close(tfm_program *program) { delete program; }

void tfm_get_info(const tfm_program *program, tfm_info *info) {
  const tfm_model &model = program->program.model();
  *info = {model.name,
           model.architecture,
           model.compiler,
           model.summary,
           program->program.target().name,
           model.context,
           model.vocabulary,
           model.eos_token,
           program->program.embeddingSize(),
           model.weight_bytes};
}

int tfm_tokenize(const tfm_program *program, const char *text, size_t bytes,
                 int32_t *ids, size_t capacity, size_t *count) {
  std::vector<int32_t> tokens;
  Error error = program->program.encode({text, bytes}, tokens);
  std::copy_n(tokens.begin(), std::min(capacity, tokens.size()), ids);
  *count = tokens.size();
  return finish(error);
}

size_t tfm_truncate(const tfm_program *program, int32_t *ids, size_t count,
                    size_t most) {
  std::vector<int32_t> tokens(ids, ids + count);
  program->program.tokenizer().truncate(tokens, most);
  std::copy(tokens.begin(), tokens.end(), ids);
  return tokens.size();
}

int tfm_detokenize(const tfm_program *program, const int32_t *ids, size_t count,
                   char *text, size_t capacity, size_t *bytes) {
  std::string decoded = program->program.tokenizer().decode({ids, count});
  std::copy_n(decoded.begin(), std::min(capacity, decoded.size()), text);
  *bytes = decoded.size();
  return finish({});
}

int tfm_session_create(const tfm_program *program,
                       const tfm_session_options *options,
                       tfm_session **session) {
  auto created = std::make_unique<tfm_session>(*program);
  Error error =
      created->session.create(options ? *options : tfm_session_options());
  *session = error ? nullptr : created.release();
  return finish(error);
}

void tfm_session_destroy(tfm_session *session) { delete session; }

int32_t tfm_session_threads(const tfm_session *session) {
  return session->session.threads();
}

int tfm_session_reset(tfm_session *session, int32_t sample) {
  return finish(session->session.reset(sample));
}

int tfm_prefill(tfm_session *session, int32_t sample, const int32_t *ids,
                size_t count, float *logits) {
  return finish(session,
                session->session.prefill(sample, {ids, count}, logits));
}

int tfm_decode(tfm_session *session, int32_t batch, const int32_t *ids,
               float *logits) {
  size_t count = static_cast<size_t>(std::max(batch, 0));
  return finish(session, session->session.decode({ids, count}, logits));
}

int tfm_score(tfm_session *session, int32_t sample, const int32_t *ids,
              size_t count, double *logprobs, int32_t *argmax) {
  return finish(session,
                session->session.score(sample, {ids, count}, logprobs, argmax));
}

int tfm_embed(tfm_session *session, const tfm_prompt *texts, size_t text_count,
              float *embeddings) {
  return finish(session,
                session->session.embed({texts, text_count}, embeddings));
}

int tfm_get_function(const tfm_program *program, size_t index,
                     tfm_signature *signature) {
  return finish(program->program.describeFunction(index, *signature));
}

int tfm_run(tfm_session *session, const char *function,
            const tfm_tensor *inputs, size_t input_count, tfm_tensor *outputs) {
  return finish(session,
                session->session.run(function, {inputs, input_count}, outputs));
}

int tfm_generate(tfm_session *session, const tfm_prompt *prompts,
                 size_t prompt_count, int32_t max_new_tokens,
                 const tfm_sampling *sampling, tfm_token_callback callback,
                 void *user) {
  return finish(session, generate(session->session, {prompts, prompt_count},
                                  max_new_tokens, *sampling, callback, user));
}

void tfm_cancel(tfm_session *session) { session->session.cancel(); }
