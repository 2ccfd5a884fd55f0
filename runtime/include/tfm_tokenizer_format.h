//===- tfm_tokenizer_format.h - The "tokenizer" resource --------*- C -*-===//
//
// The bytes of a model's tokenizer as they travel in `tfm_model::resources`
// under the kind "tokenizer". The importer writes them, the runtime checks and
// reads them. They describe how text becomes tokens:
//
//   1. added tokens are found in the text;
//   2. what is between them is rewritten by the normalizer's steps, and added
//      tokens that are looked for in normalized text are found in it;
//   3. what is left is cut into words by the pre-tokenizer's steps;
//   4. the model makes tokens of each word;
//   5. the prefix and the suffix go around all of them.
//
// The decoder's steps rewrite each token's string into text.
//
// Little-endian; the blob starts 8-byte aligned in memory and is the header
// followed, without gaps, by
//
//   double         scores[score_count]
//   uint32_t       string_offsets[string_count + 1]
//   uint32_t       words[word_count]
//   tfm_merge      merges[merge_count]
//   tfm_text_step  normalizer[normalizer_count]
//   tfm_text_step  pre_tokenizer[pre_tokenizer_count]
//   tfm_text_step  decoder[decoder_count]
//   uint32_t       prefix[prefix_count]      (token ids)
//   uint32_t       suffix[suffix_count]      (token ids)
//   uint8_t        flags[token_count]        (tfm_token_flag)
//   char           strings[string_bytes]
//
// so that every array is aligned to its elements. The blob ends with the last
// string byte: `tfm_resource::bytes` is the sum of these sizes exactly.
//
// String i is the bytes string_offsets[i] .. string_offsets[i + 1] of
// `strings`, without a terminator. Token i's is string i, as in the model file
// ("Ġthe",
// "##ing", "<|im_start|>"); those behind the tokens' belong to the steps.
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
#define TFM_TOKENIZER_VERSION 2

/// More than any published vocabulary, small enough that no size wraps.
#define TFM_TOKENIZER_MAX_TOKENS (1u << 24)
#define TFM_TOKENIZER_MAX_MERGES (1u << 24)
#define TFM_TOKENIZER_MAX_STEPS 256

/// In place of a token's id: there is none.
#define TFM_NO_TOKEN UINT32_MAX

/// What a token is beside a word of the model.
typedef enum tfm_token_flag {
  TFM_TOKEN_ADDED = 1,        ///< found in text whole
  TFM_TOKEN_SPECIAL = 2,      ///< decodes to nothing
  TFM_TOKEN_NORMALIZED = 4,   ///< added, and found in normalized text
  TFM_TOKEN_LSTRIP = 8,       ///< added, takes the white space before it along
  TFM_TOKEN_RSTRIP = 16,      ///< added, takes the white space behind it along
  TFM_TOKEN_SINGLE_WORD = 32, ///< added, and found only where no word
                              ///< character is beside it
} tfm_token_flag;

/// How a word becomes tokens.
typedef enum tfm_token_model {
  /// Its characters' tokens, neighbours merged, the lowest rank first (Sennrich
  /// et al., "Neural Machine Translation of Rare Words with Subword Units",
  /// 2016).
  TFM_MODEL_BPE = 1,
  /// The longest token that it starts with, then the longest that its rest
  /// starts with, and so on (Devlin et al., "BERT", 2019).
  TFM_MODEL_WORD_PIECE = 2,
  /// The whole word's token.
  TFM_MODEL_WORD_LEVEL = 3,
  /// The tokens of the greatest sum of scores (Kudo, "Subword Regularization",
  /// 2018).
  TFM_MODEL_UNIGRAM = 4,
} tfm_token_model;

typedef enum tfm_model_flag {
  /// A character without a token is the tokens "<0x00>" .. "<0xFF>" of its
  /// bytes.
  TFM_MODEL_BYTE_FALLBACK = 1,
  /// Neighbouring characters without tokens are one unknown token.
  TFM_MODEL_FUSE_UNKNOWN = 2,
  /// A word that is a token stays whole, whatever its merges would make of it.
  TFM_MODEL_WHOLE_WORDS = 4,
} tfm_model_flag;

/// What a step does. Patterns are PCRE2's, on UTF-8, without options.
typedef enum tfm_step_kind {
  /// Brings text to Unicode's normal form `flags`, a `tfm_normal_form`.
  TFM_STEP_NORMAL_FORM = 1,
  /// Makes each character lower-case.
  TFM_STEP_LOWERCASE = 2,
  /// Puts strings 1 and 2 in place of each match of pattern 0; with
  /// `TFM_REPLACE_AROUND`, around it.
  TFM_STEP_REPLACE = 3,
  /// Cuts each word at the matches of pattern 0; `flags` are a
  /// `tfm_split_behavior` and `TFM_SPLIT_INVERT`.
  TFM_STEP_SPLIT = 4,
  /// Spells each byte as a character of GPT-2's alphabet (encoder.py of its
  /// release). Bytes that are not UTF-8 are kept only by pre-tokenizers that
  /// have this step.
  TFM_STEP_SPELL_BYTES = 5,
  /// The bytes that a token in GPT-2's alphabet spells. Others stay.
  TFM_STEP_READ_BYTES = 6,
  /// A token "<0x0A>" is that byte.
  TFM_STEP_READ_BYTE_TOKENS = 7,
  /// Puts string 1 before each token but the first; one that starts with
  /// string 0, unless that is empty, loses it instead.
  TFM_STEP_JOIN = 8,
  /// Drops string 0, a character, from the start of the text up to `flags`
  /// times. At most one step of a decoder, its last.
  TFM_STEP_TRIM = 9,
} tfm_step_kind;

typedef enum tfm_normal_form {
  TFM_NORMAL_FORM_C = 0,
  TFM_NORMAL_FORM_D = 1,
  TFM_NORMAL_FORM_KC = 2,
  TFM_NORMAL_FORM_KD = 3,
} tfm_normal_form;

typedef enum tfm_replace_flag {
  TFM_REPLACE_AROUND = 1,
  TFM_REPLACE_FIRST = 2, ///< only in the word that the text starts with; in a
                         ///< decoder, only in the first token
} tfm_replace_flag;

/// What becomes of the matches of a pattern that cuts words.
typedef enum tfm_split_behavior {
  TFM_SPLIT_ISOLATED = 0, ///< each is a word
  TFM_SPLIT_REMOVED = 1,
  TFM_SPLIT_MERGED_WITH_PREVIOUS = 2,
  TFM_SPLIT_MERGED_WITH_NEXT = 3,
  TFM_SPLIT_CONTIGUOUS = 4, ///< neighbouring ones are one word
  TFM_SPLIT_INVERT = 8,     ///< a bit: what is between matches is the match
} tfm_split_behavior;

typedef struct tfm_text_step {
  uint32_t kind; ///< `tfm_step_kind`
  uint32_t flags;
  uint32_t strings[3]; ///< indices below `string_count`
} tfm_text_step;

/// Joins two neighbouring tokens into one. The place in `merges` is the rank;
/// the lowest rank is applied first.
typedef struct tfm_merge {
  uint32_t left;   ///< token id, less than `token_count`
  uint32_t right;  ///< token id, less than `token_count`
  uint32_t result; ///< the token that stands for both
} tfm_merge;

typedef struct tfm_tokenizer_header {
  uint64_t magic;       ///< `TFM_TOKENIZER_MAGIC`
  uint32_t version;     ///< `TFM_TOKENIZER_VERSION`
  uint32_t token_count; ///< equals `tfm_model::vocabulary`, at least 1
  uint32_t word_count;  ///< `words` are the tokens that the model makes, by
                        ///< the bytes of their strings, which differ
  uint32_t score_count; ///< of `words`: `word_count` with Unigram, else 0
  uint32_t merge_count; ///< may be 0
  uint32_t normalizer_count, pre_tokenizer_count, decoder_count;
  uint32_t prefix_count, suffix_count;
  uint32_t string_count; ///< at least `token_count`
  uint32_t string_bytes; ///< equals string_offsets[string_count]
  uint32_t model;        ///< `tfm_token_model`
  uint32_t model_flags;  ///< of `tfm_model_flag`
  uint32_t unknown;      ///< token of what the vocabulary has none for; without
                         ///< one, it is left out
  uint32_t piece_prefix; ///< string: what the spelling of a token that does not
                         ///< begin its word begins with (BPE, WordPiece)
  uint32_t word_suffix;  ///< string: what the spelling of a character that ends
                         ///< its word ends with (BPE)
  uint32_t max_word;     ///< characters; a longer word is unknown (WordPiece)
} tfm_tokenizer_header;

#ifdef __cplusplus
}
#endif

#endif // TFM_TOKENIZER_FORMAT_H
