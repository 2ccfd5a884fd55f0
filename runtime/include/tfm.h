//===- tfm.h - A compiled model as a C library ------------------*- C -*-===//
//
// What a program calls to use the model that is linked into it: open it, turn
// text into tokens and back, and run it. The model's own command line is
// written against this header.
//
// Functions that can fail return 0 on success and -1 on failure; what went
// wrong is then in `tfm_error`. Nothing is thrown. A program may be shared by
// threads; a session belongs to one thread at a time.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_H
#define TFM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// In a library of a model, these functions are all that others see.
#pragma GCC visibility push(default)

/// The linked-in model, ready to run: its weights mapped, the kernels for this
/// processor chosen, its tokenizer built.
typedef struct tfm_program tfm_program;

/// A key/value cache for a number of samples, each with its own length, and
/// the threads that run the model on it.
typedef struct tfm_session tfm_session;

/// What went wrong in the calling thread's last failed call: lower-case,
/// without a full stop, valid until that thread's next call. Never null.
const char *tfm_error(void);

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

/// Fails if this processor has none of the instruction sets that the model was
/// compiled for, or if the executable's weights or tokenizer are damaged.
int tfm_open(tfm_program **program);

/// Every session of `program` must be gone. Null is allowed.
void tfm_close(tfm_program *program);

typedef struct tfm_info {
  const char *name;
  const char *architecture;
  const char *compiler;
  const char *summary; ///< memory plan and options, lines of UTF-8
  const char *isa;     ///< the chosen instruction set, as in `tfmc --march`
  int32_t context;     ///< largest context, in tokens
  int32_t vocabulary;  ///< V
  int32_t eos_token;   ///< end of text, or -1
  int32_t embedding;   ///< E, or 0 in a model that makes no embeddings
  uint64_t weight_bytes;
} tfm_info;

/// The strings live as long as `program`.
void tfm_get_info(const tfm_program *program, tfm_info *info);

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Writes the first `capacity` token ids of `text` to `ids` and their full
/// number to `count`. `bytes` + 1 suffice for most texts, but not for those
/// that normal forms make longer. Special tokens written out in the text are
/// recognised; tokens are put in front and at the end only if the model's files
/// ask for them.
///
/// Text is UTF-8. Each run of bytes that is not is a word of its own; where the
/// vocabulary spells bytes, `tfm_detokenize` gives it back, elsewhere it is
/// read as one U+FFFD. What the vocabulary has no token for is left out, or is
/// its unknown token, as the Hugging Face tokenizer does.
int tfm_tokenize(const tfm_program *program, const char *text, size_t bytes,
                 int32_t *ids, size_t capacity, size_t *count);

/// Cuts the tokens of a text, as `tfm_tokenize` gives them, to at most `most`
/// and returns how many are left. Those that the model puts around every text
/// stay.
size_t tfm_truncate(const tfm_program *program, int32_t *ids, size_t count,
                    size_t most);

/// Writes the first `capacity` bytes of the text of `count` tokens to `text`
/// (no terminator) and their full number to `bytes`. Control tokens are empty.
int tfm_detokenize(const tfm_program *program, const int32_t *ids, size_t count,
                   char *text, size_t capacity, size_t *bytes);

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// A field of 0 takes its default.
typedef struct tfm_session_options {
  int32_t batch;         ///< samples that run side by side; default 1
  int32_t context;       ///< tokens per sample; default and most, the model's
  int32_t threads;       ///< default: one per core that this process may use
  int32_t prefill_chunk; ///< tokens per prefill call; default 256
} tfm_session_options;

/// `options` may be null. The session holds on to `program`.
int tfm_session_create(const tfm_program *program,
                       const tfm_session_options *options,
                       tfm_session **session);

/// Null is allowed.
void tfm_session_destroy(tfm_session *session);

int32_t tfm_session_threads(const tfm_session *session);

/// Forgets the tokens of `sample`.
int tfm_session_reset(tfm_session *session, int32_t sample);

/// Appends `count` >= 1 tokens to `sample` and writes the logits that follow
/// the last one to `logits`, [V].
int tfm_prefill(tfm_session *session, int32_t sample, const int32_t *ids,
                size_t count, float *logits);

/// Appends one token to each of the samples 0 .. `batch` - 1 and writes the
/// logits that follow to `logits`, [batch, V].
int tfm_decode(tfm_session *session, int32_t batch, const int32_t *ids,
               float *logits);

/// Appends `count` >= 1 tokens to `sample`. `logprobs`, [count - 1], receives
/// the natural logarithm of the probability of token i + 1 after the tokens up
/// to i, and `argmax`, [count], the most probable token after each (the lowest
/// id of several). A sum of logits is taken in double precision.
int tfm_score(tfm_session *session, int32_t sample, const int32_t *ids,
              size_t count, double *logprobs, int32_t *argmax);

/// How the next token is chosen. With a temperature of 0 the most probable one
/// is (the lowest id of several); else, in this order: repetition penalty,
/// temperature, the `top_k` best, the smallest set of best ones whose
/// probabilities sum to `top_p`, and a draw by `seed`.
typedef struct tfm_sampling {
  float temperature;    ///< >= 0
  int32_t top_k;        ///< 0: no limit
  float top_p;          ///< in (0, 1]; 1: no limit
  float repeat_penalty; ///< > 0; 1: none. Logits of tokens that the prompt or
                        ///< the continuation holds are divided by it where
                        ///< positive, multiplied where negative (Keskar et al.,
                        ///< "CTRL", 2019, section 4.1)
  uint64_t seed;        ///< every prompt draws from a stream of its own
} tfm_sampling;

typedef struct tfm_prompt {
  const int32_t *ids;
  size_t count; ///< >= 1
} tfm_prompt;

/// Writes the embedding of each of `text_count` texts to `embeddings`,
/// [text_count, E]. Texts of one length run side by side, as many at a time as
/// the session has samples. A text's embedding does not depend on the others.
/// What the samples held stays.
int tfm_embed(tfm_session *session, const tfm_prompt *texts, size_t text_count,
              float *embeddings);

typedef enum tfm_stop {
  TFM_STOP_EOS = 0,       ///< the model ended the text
  TFM_STOP_LENGTH = 1,    ///< `max_new_tokens` were made
  TFM_STOP_CONTEXT = 2,   ///< prompt and continuation fill the context
  TFM_STOP_CANCELLED = 3, ///< the callback or `tfm_cancel` asked for it
} tfm_stop;

/// A new token of a prompt. `text` holds whole UTF-8 sequences: a token that
/// ends inside one gives its bytes later, the last token all that is left.
/// Each prompt has one final call, with `finished` set, `stop` valid, and an id
/// of -1 if there is no further token.
typedef struct tfm_token {
  size_t prompt;    ///< index into the prompts
  int32_t id;       ///< the end-of-text token included
  const char *text; ///< without a terminator, valid during the call
  size_t bytes;
  int finished;
  tfm_stop stop;
} tfm_token;

/// Returns 0 to go on; anything else ends the whole generation.
typedef int (*tfm_token_callback)(void *user, const tfm_token *token);

/// Continues `prompt_count` prompts, as many at a time as the session has
/// samples, each with at most `max_new_tokens` tokens. What the samples held
/// is forgotten. A prompt's continuation does not depend on the others.
int tfm_generate(tfm_session *session, const tfm_prompt *prompts,
                 size_t prompt_count, int32_t max_new_tokens,
                 const tfm_sampling *sampling, tfm_token_callback callback,
                 void *user);

/// The type of a tensor's elements; the numbers of `tfm_element`.
typedef enum tfm_dtype {
  TFM_F32 = 0,
  TFM_F16 = 1,
  TFM_I32 = 2,
  TFM_I8 = 3,
} tfm_dtype;

#define TFM_MAX_RANK 8

/// A dense, row-major array.
typedef struct tfm_tensor {
  const char *name;
  int32_t dtype; ///< `tfm_dtype`
  int32_t rank;
  int64_t dims[TFM_MAX_RANK]; ///< [rank], outermost first; −1 where any will do
  void *data;
} tfm_tensor;

/// The most inputs and outputs that a function has.
#define TFM_MAX_TENSORS 16

/// A function of a model that neither makes text nor embeddings.
typedef struct tfm_signature {
  const char *name;
  size_t input_count, output_count;
  tfm_tensor inputs[TFM_MAX_TENSORS], outputs[TFM_MAX_TENSORS];
} tfm_signature;

/// Describes function `index`, counted from 0, without data. Fails past the
/// last one.
int tfm_get_function(const tfm_program *program, size_t index,
                     tfm_signature *signature);

/// Runs a function. `inputs` are matched by name, in any order; each must have
/// the function's type and dimensions. The outputs are described in `outputs`,
/// [output_count]; their data belongs to the session, until its next call.
int tfm_run(tfm_session *session, const char *function,
            const tfm_tensor *inputs, size_t input_count, tfm_tensor *outputs);

/// Makes a running call of `session` return soon: `tfm_generate` with success,
/// the others with a failure. May be called from any thread and from a signal
/// handler. Later calls run again.
void tfm_cancel(tfm_session *session);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif // TFM_H
