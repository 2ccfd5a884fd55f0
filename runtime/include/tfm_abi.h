//===- tfm_abi.h - Between generated code and the runtime -------*- C -*-===//
//
// The contract between what `tfmc` generates and the runtime that it is linked
// with. The generated object defines `tfm_model_descriptor`; the runtime
// defines the `tfm_` functions declared at the end. Both sides are built from
// this header, and `TFM_ABI_VERSION` changes whenever a layout does.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_ABI_H
#define TFM_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TFM_ABI_VERSION 1

/// Keys are stored in tiles of this many positions, see `tfm_cache`.
#define TFM_CACHE_TILE 64

/// The most tokens of a sample in one call, unless a user of the runtime wants
/// other pieces of a prompt; `score` keeps the logits of all of them.
#define TFM_PREFILL_CHUNK 256
#define TFM_SCORE_CHUNK 64

/// A thread's place in the parallel region that it runs. Opaque to generated
/// code, which only hands it back to `tfm_next_tile` and `tfm_fail`.
typedef struct tfm_worker tfm_worker;

/// A dimension of an argument: a length of at least 0, or one of these.
enum {
  TFM_DIM_BATCH = -1,  ///< B, `tfm_call::batch`
  TFM_DIM_LENGTH = -2, ///< S, `tfm_call::length`
};

/// The type of an argument's elements.
typedef enum tfm_element {
  TFM_ELEMENT_F32 = 0,
  TFM_ELEMENT_F16 = 1,
  TFM_ELEMENT_I32 = 2,
  TFM_ELEMENT_I8 = 3,
} tfm_element;

typedef enum tfm_role {
  TFM_ROLE_INPUT = 0,  ///< dense, row-major, only read
  TFM_ROLE_CACHE = 1,  ///< a `tfm_cache`, read and written
  TFM_ROLE_OUTPUT = 2, ///< dense, row-major, only written
} tfm_role;

/// What one argument of an entry point is. `name`, `dims` and everything else
/// that the descriptor points to live as long as the program.
typedef struct tfm_argument {
  const char *name; ///< "tokens", "cache", "logits", or the user's own
  int32_t role;     ///< `tfm_role`
  int32_t element;  ///< `tfm_element`; of a cache, that of its keys and values
  int32_t rank;
  const int64_t *dims; ///< [rank], outermost first
} tfm_argument;

/// Keys and values of every layer for `capacity` samples, each with its own
/// length. L layers, G key/value heads, D head size, T = `context` positions
/// rounded up to whole tiles of 64:
///
///   keys    [L, capacity, G, T / 64, D, 64]   d-major inside a tile
///   values  [L, capacity, G, T, D]
///
/// A view of the samples b, b+1, … has the same `capacity` and `context`, and
/// the three pointers moved on by b samples. Memory starts zeroed, so that a
/// tile's unused keys are numbers.
typedef struct tfm_cache {
  void *keys;
  void *values;
  int32_t *lengths; ///< [batch] positions that hold a token
  int64_t capacity; ///< samples that the memory was made for
  int64_t context;  ///< positions per sample, a multiple of 64
} tfm_cache;

/// One call of an entry point. Generated code only reads it; the workers of a
/// region share it.
typedef struct tfm_call {
  int64_t batch;          ///< B
  int64_t length;         ///< S, new tokens per sample, equal for all samples
  void *const *arguments; ///< in the order of `tfm_entry_point::arguments`
  char *arena;            ///< 64-byte aligned, `tfm_entry_point`'s formula
  const char *weights;    ///< 64-byte aligned, `tfm_model::weight_bytes`
  void *const *kernels;   ///< the chosen `tfm_target::kernels`
} tfm_call;

/// Every worker of a region runs the same `run` to its end; the workers share
/// the tiles of each launch through `tfm_next_tile`. Returns 0, or what
/// `tfm_fail` was given.
typedef struct tfm_entry_point {
  const char *name; ///< "prefill", "decode", "score"
  int32_t (*run)(tfm_worker *worker, const tfm_call *call);
  int32_t argument_count;
  const tfm_argument *arguments;
  /// Arena bytes = per_row * B * S + per_sample * B + fixed.
  int64_t arena_per_row;
  int64_t arena_per_sample;
  int64_t arena_fixed;
} tfm_entry_point;

/// What a processor must offer.
enum {
  TFM_CPU_AVX2 = 1 << 0,   ///< AVX2, FMA and F16C
  TFM_CPU_AVX512 = 1 << 1, ///< AVX-512 F, BW, DQ, VL, CD
  /// AVX-512 VNNI with VBMI, VBMI2, IFMA, BITALG, VPOPCNTDQ and BF16: what
  /// processors with VNNI have from Zen 4 and Sapphire Rapids on.
  TFM_CPU_AVX512_VNNI = 1 << 2,
};

/// The kernels compiled for one instruction set.
typedef struct tfm_target {
  const char *name;     ///< as in `tfmc --march`
  uint32_t features;    ///< all of these `TFM_CPU_` bits are needed
  void *const *kernels; ///< indexed by generated code alone
} tfm_target;

/// The sizes of the cache, all 0 in a model without one.
typedef struct tfm_cache_shape {
  int32_t layers;     ///< L
  int32_t heads;      ///< G
  int32_t key_size;   ///< D of the keys
  int32_t value_size; ///< D of the values
  int32_t element;    ///< `tfm_element`: F16 or F32
} tfm_cache_shape;

/// Bytes that travel with the model: "tokenizer" (tfm_tokenizer_format.h),
/// "chat_template" (UTF-8).
typedef struct tfm_resource {
  const char *kind;
  const void *data;
  uint64_t bytes;
} tfm_resource;

typedef struct tfm_model {
  uint32_t abi_version; ///< `TFM_ABI_VERSION`
  int32_t context;      ///< largest context, in tokens
  int32_t vocabulary;   ///< V
  int32_t bos_token;    ///< start of text, or -1
  int32_t add_bos;      ///< 1 if the file asks for `bos_token` before a prompt
  int32_t eos_token;    ///< end of text, or -1
  const char *name;
  const char *architecture; ///< "llama"
  const char *compiler;     ///< "tfmc 0.1.0"
  const char *summary; ///< for --info: memory plan and options, UTF-8 lines
  tfm_cache_shape cache;
  uint64_t weight_bytes;      ///< size of the weight section
  const char *weight_section; ///< its name in the ELF file, non-loadable
  int32_t entry_point_count;
  int32_t target_count; ///< best first
  int32_t resource_count;
  const tfm_entry_point *entry_points;
  const tfm_target *targets;
  const tfm_resource *resources;
} tfm_model;

extern const tfm_model tfm_model_descriptor;

/// Finishes the tile that `worker` holds, if any, and claims the next of the
/// `tiles` tiles of launch number `launch` (counted from 0 in every call, the
/// same for all workers). When none is left, waits until the claimed ones are
/// finished and returns -1. A launch is over before the next one starts.
int32_t tfm_next_tile(tfm_worker *worker, int64_t launch, int32_t tiles);

/// Notes that a kernel returned `error` (not 0): the region goes on to its end
/// without claiming further tiles, and the call returns `error`.
void tfm_fail(tfm_worker *worker, int32_t error);

/// What kernels take as their `user_context` (scratch memory of the worker).
void *tfm_kernel_context(tfm_worker *worker);

#ifdef __cplusplus
}
#endif

#endif // TFM_ABI_H
