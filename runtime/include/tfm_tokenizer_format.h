//===- tfm_tokenizer_format.h - The "tokenizer" resource --------*- C -*-===//
//
// The bytes of a model's tokenizer as they travel in `tfm_model::resources`
// under the kind "tokenizer". The importer writes them, the runtime checks and
// reads them. Little-endian; the blob starts 8-byte aligned in memory and is
// the header followed, without gaps, by
//
//   uint32_t           string_offsets[token_count + 1]
//   tfm_merge          merges[merge_count]
//   uint8_t            types[token_count]     (tfm_token_type)
//   char               strings[string_bytes]
//
// so that every array is aligned to its elements. The blob ends with the last
// string byte: `tfm_resource::bytes` is the sum of these sizes exactly.
//
// Token i's string is the bytes string_offsets[i] .. string_offsets[i + 1] of
// `strings`, without a terminator, exactly as in the model file: UTF-8 in
// GPT-2's alphabet of 256 printable characters for normal tokens ("Ġthe"),
// plain text for control and user-defined ones ("<|im_start|>").
//
//===----------------------------------------------------------------------===//

#ifndef TFM_TOKENIZER_FORMAT_H
#define TFM_TOKENIZER_FORMAT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The bytes "TFMTOKEN", read as a little-endian integer.
#define TFM_TOKENIZER_MAGIC UINT64_C(0x4e454b4f544d4654)
#define TFM_TOKENIZER_VERSION 1

/// More than any published vocabulary, small enough that no size wraps.
#define TFM_TOKENIZER_MAX_TOKENS (1u << 24)
#define TFM_TOKENIZER_MAX_MERGES (1u << 24)

/// How text is cut into the words that merges stay within, as GGUF's
/// `tokenizer.ggml.pre` names it.
typedef enum tfm_pre_tokenizer {
  /// "smollm": each digit (\p{N}) alone, then GPT-2's pattern.
  TFM_PRE_TOKENIZER_SMOLLM = 1,
  /// "gpt-2": GPT-2's pattern.
  TFM_PRE_TOKENIZER_GPT2 = 2,
  /// "llama-bpe": Llama 3's pattern; a word that is a token stays whole,
  /// whatever its merges would make of it.
  TFM_PRE_TOKENIZER_LLAMA_BPE = 3,
  /// "qwen2": Qwen2's pattern, on text in Unicode's normal form C.
  TFM_PRE_TOKENIZER_QWEN2 = 4,
} tfm_pre_tokenizer;

/// GGUF's `tokenizer.ggml.token_type`, same numbers.
typedef enum tfm_token_type {
  TFM_TOKEN_NORMAL = 1,       ///< made by merges
  TFM_TOKEN_UNKNOWN = 2,      ///< never made from text
  TFM_TOKEN_CONTROL = 3,      ///< found in text whole, decodes to nothing
  TFM_TOKEN_USER_DEFINED = 4, ///< found in text whole, decodes to its string
  TFM_TOKEN_UNUSED = 5,       ///< never made from text
  TFM_TOKEN_BYTE = 6,         ///< "<0x0A>", never made from text, decodes to it
} tfm_token_type;

/// Joins two neighbouring tokens into one. The place in `merges` is the rank;
/// the lowest rank is applied first.
typedef struct tfm_merge {
  uint32_t left;   ///< token id, less than `token_count`
  uint32_t right;  ///< token id, less than `token_count`
  uint32_t result; ///< the token whose string is left's followed by right's
} tfm_merge;

typedef struct tfm_tokenizer_header {
  uint64_t magic;         ///< `TFM_TOKENIZER_MAGIC`
  uint32_t version;       ///< `TFM_TOKENIZER_VERSION`
  uint32_t pre_tokenizer; ///< `tfm_pre_tokenizer`
  uint32_t token_count;   ///< equals `tfm_model::vocabulary`, at least 1
  uint32_t merge_count;   ///< may be 0
  uint32_t string_bytes;  ///< equals string_offsets[token_count]
  uint32_t reserved;      ///< 0
} tfm_tokenizer_header;

#ifdef __cplusplus
}
#endif

#endif // TFM_TOKENIZER_FORMAT_H
