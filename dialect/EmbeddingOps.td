//===- EmbeddingOps.td - Tokens and positions --------------*- tablegen -*-===//

#ifndef TFM_EMBEDDING_OPS_TD
#define TFM_EMBEDDING_OPS_TD

include "dialect/TfmTypes.td"

def Tfm_EmbedOp : Tfm_ValueOp<"embed"> {
  let summary = "looks tokens up in a table of vectors";
  let description = [{
    result[..., e] = table[tokens[...], e], converted to f32.

    - `tokens`: [B, S] or [R], ids in 0..V−1
    - `table`: [V, E], any weight type
    - result: [B, S, E] or [R, E]

    Example:

    ```mlir
    %x = tfm.embed %tokens, %table : (tensor<?x?xi32>, tensor<320x64xf16>) -> tensor<?x?x64xf32>
    ```
  }];
  let arguments = (ins Tfm_Tokens:$tokens, Tfm_Matrix:$table);
  let results = (outs Tfm_Tensor:$result);
  let assemblyFormat = [{
    $tokens `,` $table attr-dict `:` functional-type(operands, results)
  }];
}

def Tfm_EmbedPositionsOp : Tfm_ValueOp<"embed_positions"> {
  let summary = "looks positions up in a table of learned vectors";
  let description = [{
    result[b, s, e] = table[start + offsets[b] + s, e], converted to f32;
    without `offsets` every sample starts at position 0 (Gehring et al., 2017).
    The tokens only say how many samples and rows there are.

    - `tokens`: [B, S]
    - `table`: [T, E], any weight type; a position past its end is an error
    - `offsets`: [B] i32
    - `start`: the row of position 0, at least 0; RoBERTa has 2
    - result: [B, S, E]

    Rules:
    - `embed-positions-c1`: `start` is at least 0 and less than T.
    - `embed-positions-c2`: `offsets` has B elements.

    Example:

    ```mlir
    %p = tfm.embed_positions %tokens, %table {start = 2 : i64} : (tensor<?x?xi32>, tensor<514x384xf32>) -> tensor<?x?x384xf32>
    ```
  }];
  let arguments = (ins
    TensorRankOf<[I32], [2]>:$tokens, Tfm_Matrix:$table,
    Optional<Tfm_PerSample>:$offsets, DefaultValuedAttr<I64Attr, "0">:$start);
  let results = (outs Tfm_TensorOfRank<3>:$result);
  let assemblyFormat = [{
    $tokens `,` $table (`at` $offsets^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Tfm_RopeOp : Tfm_ValueOp<"rope"> {
  let summary = "rotates pairs of elements by their position";
  let description = [{
    Rotary position embedding (Su et al., 2021, section 3.2). Row s of sample b
    stands at position p = offsets[b] + s, or p = s without `offsets`. With
    d = `dims`, pair i in 0..d/2−1 is rotated by the angle p · theta^(−2i/d):

    - `interleaved` pairs elements 2i and 2i+1 (the paper, GGUF's llama);
    - `half` pairs elements i and i + d/2 (Hugging Face).

    Elements from `dims` on are left as they are.

    - `input`: [B, H, S, D] f32
    - `offsets`: [B] i32

    Rules:
    - `rope-c1`: `dims` is even and between 2 and D.
    - `rope-c2`: `theta` is greater than 0.
    - `rope-c3`: `offsets` has B elements.

    Example:

    ```mlir
    %r = tfm.rope %q interleaved {dims = 64 : i64, theta = 1.0e+04 : f64} : tensor<?x9x?x64xf32>
    ```
  }];
  let arguments = (ins
    Tfm_TensorOfRank<4>:$input, Optional<Tfm_PerSample>:$offsets,
    Tfm_RopeStyle:$style, I64Attr:$dims, F64Attr:$theta);
  let results = (outs Tfm_TensorOfRank<4>:$result);
  let assemblyFormat = [{
    $input (`at` $offsets^)? $style attr-dict `:` type($input)
    (`,` type($offsets)^)?
  }];
  let hasVerifier = 1;
}

#endif // TFM_EMBEDDING_OPS_TD
