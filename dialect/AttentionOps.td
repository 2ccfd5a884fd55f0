//===- AttentionOps.td - Attention, step by step and fused -*- tablegen -*-===//
//
// The textbook form (scores, scale, apply_mask, softmax, mix) and the one
// operation that `tfm-fuse-attention` makes of it.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_ATTENTION_OPS_TD
#define TFM_ATTENTION_OPS_TD

include "dialect/TfmTypes.td"

def Tfm_SplitHeadsOp : Tfm_ValueOp<"split_heads"> {
  let summary = "[B, S, H·D] to [B, H, S, D]";
  let description = [{
    result[b, h, s, d] = input[b, s, h · D + d] (Vaswani et al., 2017,
    section 3.2.2).

    Rules:
    - `split-heads-c1`: `heads` divides the model size.

    Example:

    ```mlir
    %q = tfm.split_heads %x into 9 : (tensor<?x?x576xf32>) -> tensor<?x9x?x64xf32>
    ```
  }];
  let arguments = (ins Tfm_TensorOfRank<3>:$input,
                       ConfinedAttr<I64Attr, [IntPositive]>:$heads);
  let results = (outs Tfm_TensorOfRank<4>:$result);
  let assemblyFormat = [{
    $input `into` $heads attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tfm_MergeHeadsOp : Tfm_ValueOp<"merge_heads"> {
  let summary = "[B, H, S, D] to [B, S, H·D]";
  let description = [{
    The inverse of `split_heads`: result[b, s, h · D + d] = input[b, h, s, d].

    Example:

    ```mlir
    %y = tfm.merge_heads %o : (tensor<?x9x?x64xf32>) -> tensor<?x?x576xf32>
    ```
  }];
  let arguments = (ins Tfm_TensorOfRank<4>:$input);
  let results = (outs Tfm_TensorOfRank<3>:$result);
  let assemblyFormat = [{
    $input attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def Tfm_ScoresOp : Tfm_ValueOp<"scores"> {
  let summary = "how well each query matches each key: Q·K^T";
  let description = [{
    result[b, h, s, t] = sum over d of query[b, h, s, d] · key[b, g, t, d], with
    g = h / (H / G): a group of H / G query heads shares a key head (Ainslie et
    al., 2023). The sum is f32.

    - `query`: [B, H, S, D]
    - `key`: [B, G, T, D]
    - result: [B, H, S, T]

    Rules:
    - `scores-c1`: query and key have equal B.
    - `scores-c2`: query and key have equal D.
    - `scores-c3`: H is a multiple of G.

    Example:

    ```mlir
    %s = tfm.scores %q, %k : (tensor<?x9x?x64xf32>, tensor<?x3x?x64xf32>) -> tensor<?x9x?x?xf32>
    ```
  }];
  let arguments = (ins Tfm_TensorOfRank<4>:$query, Tfm_TensorOfRank<4>:$key);
  let results = (outs Tfm_TensorOfRank<4>:$result);
  let assemblyFormat = [{
    $query `,` $key attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Tfm_ScaleOp : Tfm_ValueOp<"scale"> {
  let summary = "multiplies by a constant";
  let description = [{
    result = input · factor, with the factor rounded to f32. Attention scales
    its scores by 1/sqrt(D) (Vaswani et al., 2017, section 3.2.1).

    Example:

    ```mlir
    %y = tfm.scale %x by 1.250000e-01 : tensor<?x9x?x?xf32>
    ```
  }];
  let arguments = (ins Tfm_Tensor:$input, F32Attr:$factor);
  let results = (outs Tfm_Tensor:$result);
  let assemblyFormat = "$input `by` $factor attr-dict `:` type($input)";
  let hasFolder = 1;
}

def Tfm_ApplyMaskOp : Tfm_ValueOp<"apply_mask"> {
  let summary = "excludes masked positions";
  let description = [{
    result = mask ? scores : −infinity. The softmax that follows gives such
    positions a probability of exactly 0.

    - `scores`: [B, H, S, T]
    - `mask`: i1, broadcasts over [B, H, S, T]

    Rules:
    - `apply-mask-c1`: each dimension of the mask is 1 or that of the scores.

    Example:

    ```mlir
    %y = tfm.apply_mask %scores, %mask : tensor<?x9x?x?xf32>, tensor<1x1x?x?xi1>
    ```
  }];
  let arguments = (ins Tfm_TensorOfRank<4>:$scores, Tfm_Mask:$mask);
  let results = (outs Tfm_TensorOfRank<4>:$result);
  let assemblyFormat = [{
    $scores `,` $mask attr-dict `:` type($scores) `,` type($mask)
  }];
  let hasVerifier = 1;
}

def Tfm_SoftmaxOp : Tfm_ValueOp<"softmax"> {
  let summary = "probabilities over the last dimension";
  let description = [{
    result[..., t] = exp(x[..., t] − m) / l with m the row's maximum and l the
    sum of exp(x − m), in f32. Positions at −infinity get 0; a row that is all
    −infinity gives zeros.

    Example:

    ```mlir
    %p = tfm.softmax %x : tensor<?x9x?x?xf32>
    ```
  }];
  let arguments = (ins Tfm_Tensor:$input);
  let results = (outs Tfm_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def Tfm_MixOp : Tfm_ValueOp<"mix"> {
  let summary = "the values, mixed by probabilities: P·V";
  let description = [{
    result[b, h, s, d] = sum over t of probabilities[b, h, s, t] ·
    value[b, g, t, d], with g = h / (H / G) as in `scores`. The sum is f32.

    - `probabilities`: [B, H, S, T]
    - `value`: [B, G, T, D]
    - result: [B, H, S, D]

    Rules:
    - `mix-c1`: probabilities and value have equal B.
    - `mix-c2`: probabilities and value have equal T.
    - `mix-c3`: H is a multiple of G.

    Example:

    ```mlir
    %o = tfm.mix %p, %v : (tensor<?x9x?x?xf32>, tensor<?x3x?x64xf32>) -> tensor<?x9x?x64xf32>
    ```
  }];
  let arguments = (ins Tfm_TensorOfRank<4>:$probabilities,
                       Tfm_TensorOfRank<4>:$value);
  let results = (outs Tfm_TensorOfRank<4>:$result);
  let assemblyFormat = [{
    $probabilities `,` $value attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Tfm_AttentionOp : Tfm_ValueOp<"attention"> {
  let summary = "scaled dot-product attention in one operation";
  let description = [{
    result = softmax(scale · Q·K^T, masked) · V, as `scores`, `scale`,
    `apply_mask`, `softmax` and `mix` define it, without their intermediate
    tensors (Vaswani et al., 2017, equation 1; Dao et al., 2022). With `causal`
    query s sees the keys 0..s; with `mask` it sees what the mask keeps; with
    both, what both keep.

    - `query`: [B, H, S, D]
    - `key`: [B, G, T, D]
    - `value`: [B, G, T, D'], where D' may differ from D
    - `mask`: i1, broadcasts over [B, H, S, T]
    - result: [B, H, S, D']; a row with everything masked is zeros

    Rules:
    - `attention-c1`: query, key and value have equal B.
    - `attention-c2`: query and key have equal D.
    - `attention-c3`: key and value have equal T.
    - `attention-c4`: key and value have equal G.
    - `attention-c5`: H is a multiple of G.
    - `attention-c6`: each dimension of the mask is 1 or that of the scores.

    Example:

    ```mlir
    %o = tfm.attention %q, %k, %v causal {scale = 1.250000e-01 : f32} : (tensor<?x9x?x64xf32>, tensor<?x3x?x64xf32>, tensor<?x3x?x64xf32>) -> tensor<?x9x?x64xf32>
    ```
  }];
  let arguments = (ins
    Tfm_TensorOfRank<4>:$query, Tfm_TensorOfRank<4>:$key,
    Tfm_TensorOfRank<4>:$value, Optional<Tfm_Mask>:$mask,
    F32Attr:$scale, UnitAttr:$causal);
  let results = (outs Tfm_TensorOfRank<4>:$result);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? (`causal` $causal^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // TFM_ATTENTION_OPS_TD
