//===- AttentionOps.td - Attention, step by step and fused -*- tablegen -*-===//
//
// The textbook form (scores, scale, add_bias, apply_mask, softmax, mix), its
// spelling as products of matrices (transpose, matmul, repeat_heads), and the
// one operation that `tfm-fuse-attention` makes of either.
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

def Tfm_RepeatHeadsOp : Tfm_ValueOp<"repeat_heads"> {
  let summary = "each head `count` times in a row";
  let description = [{
    result[b, h, t, d] = input[b, h / count, t, d]: key/value heads, one for
    each query head that shares them (Ainslie et al., 2023). `scores` and `mix`
    of repeated heads are those of the heads themselves, which
    canonicalization makes of them.

    - `input`: [B, G, T, D]
    - result: [B, G·count, T, D]

    Rules:
    - `repeat-heads-c1`: G·count is less than 2^63.

    Example:

    ```mlir
    %r = tfm.repeat_heads %k by 3 : (tensor<?x3x?x64xf32>) -> tensor<?x9x?x64xf32>
    ```
  }];
  let arguments = (ins Tfm_TensorOfRank<4>:$input,
                       ConfinedAttr<I64Attr, [IntPositive]>:$count);
  let results = (outs Tfm_TensorOfRank<4>:$result);
  let assemblyFormat = [{
    $input `by` $count attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def Tfm_TransposeOp : Tfm_ValueOp<"transpose"> {
  let summary = "swaps the last two dimensions";
  let description = [{
    result[b, h, j, i] = input[b, h, i, j].

    - `input`: [B, H, I, J]
    - result: [B, H, J, I]

    Example:

    ```mlir
    %kt = tfm.transpose %k : (tensor<?x9x?x64xf32>) -> tensor<?x9x64x?xf32>
    ```
  }];
  let arguments = (ins Tfm_TensorOfRank<4>:$input);
  let results = (outs Tfm_TensorOfRank<4>:$result);
  let assemblyFormat = [{
    $input attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def Tfm_MatmulOp : Tfm_ValueOp<"matmul"> {
  let summary = "products of matrices, one per sample and head";
  let description = [{
    result[b, h, i, j] = sum over k of lhs[b, h, i, k] · rhs[b, h, k, j]. The
    sum is f32. Canonicalization makes `scores` of a product with a transposed
    matrix, and `mix` of any other.

    - `lhs`: [B, H, I, K]
    - `rhs`: [B, H, K, J]
    - result: [B, H, I, J]

    Rules:
    - `matmul-c1`: lhs and rhs have equal B.
    - `matmul-c2`: lhs and rhs have equal H.
    - `matmul-c3`: lhs and rhs have equal K.

    Example:

    ```mlir
    %s = tfm.matmul %q, %kt : (tensor<?x9x?x64xf32>, tensor<?x9x64x?xf32>) -> tensor<?x9x?x?xf32>
    ```
  }];
  let arguments = (ins Tfm_TensorOfRank<4>:$lhs, Tfm_TensorOfRank<4>:$rhs);
  let results = (outs Tfm_TensorOfRank<4>:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
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
  let hasCanonicalizeMethod = 1;
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
  let hasCanonicalizeMethod = 1;
}

def Tfm_AddBiasOp : Tfm_ValueOp<"add_bias"> {
  let summary = "adds a bias to scores";
  let description = [{
    result = scores + bias, as ALiBi does (Press et al., 2022) and models that
    write their masks as numbers. The elements of a bias are finite or
    −infinity; the softmax that follows excludes positions at −infinity.

    - `scores`: [B, H, S, T]
    - `bias`: f32, broadcasts over [B, H, S, T]

    Rules:
    - `add-bias-c1`: each dimension of the bias is 1 or that of the scores.

    Example:

    ```mlir
    %y = tfm.add_bias %scores, %bias : tensor<?x9x?x?xf32>, tensor<1x9x1x?xf32>
    ```
  }];
  let arguments = (ins Tfm_TensorOfRank<4>:$scores, Tfm_TensorOfRank<4>:$bias);
  let results = (outs Tfm_TensorOfRank<4>:$result);
  let assemblyFormat = [{
    $scores `,` $bias attr-dict `:` type($scores) `,` type($bias)
  }];
  let hasVerifier = 1;
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

def Tfm_DropoutOp : Tfm_ValueOp<"dropout"> {
  let summary = "drops elements in training, and none at inference";
  let description = [{
    result = input. In training an element is 0 with probability `rate`, and
    else divided by 1 − rate (Srivastava et al., 2014, section 10). The
    operation is here so that a network can be written as its paper has it.

    Rules:
    - `dropout-c1`: the rate is at least 0 and less than 1.

    Example:

    ```mlir
    %y = tfm.dropout %x at 1.000000e-01 : tensor<?x9x?x?xf32>
    ```
  }];
  let arguments = (ins Tfm_Tensor:$input, F32Attr:$rate);
  let results = (outs Tfm_Tensor:$result);
  let assemblyFormat = "$input `at` $rate attr-dict `:` type($input)";
  let hasVerifier = 1;
  let hasFolder = 1;
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
  let hasCanonicalizeMethod = 1;
}

def Tfm_AttentionOp : Tfm_ValueOp<"attention", [AttrSizedOperandSegments]> {
  let summary = "scaled dot-product attention in one operation";
  let description = [{
    result = softmax(scale · Q·K^T + bias, masked) · V, as `scores`, `scale`,
    `add_bias`, `apply_mask`, `softmax` and `mix` define it, without their
    intermediate tensors (Vaswani et al., 2017, equation 1; Dao et al., 2022).
    With `causal` query s sees the keys 0..s, with `window` W it sees key t if
    |s − t| < W, with `mask` what the mask keeps, and with several of them what
    all keep. The sums are f32.

    - `query`: [B, H, S, D]
    - `key`: [B, G, T, D]
    - `value`: [B, G, T, D'], where D' may differ from D
    - `mask`: i1, broadcasts over [B, H, S, T]
    - `bias`: f32, finite or −infinity, broadcasts over [B, H, S, T]
    - result: [B, H, S, D']; a row with everything masked, or with a bias of
      −infinity everywhere, is zeros

    Rules:
    - `attention-c1`: query, key and value have equal B.
    - `attention-c2`: query and key have equal D.
    - `attention-c3`: key and value have equal T.
    - `attention-c4`: key and value have equal G.
    - `attention-c5`: H is a multiple of G.
    - `attention-c6`: each dimension of the mask is 1 or that of the scores.
    - `attention-c7`: each dimension of the bias is 1 or that of the scores.

    Example:

    ```mlir
    %o = tfm.attention %q, %k, %v causal {scale = 1.250000e-01 : f32} : (tensor<?x9x?x64xf32>, tensor<?x3x?x64xf32>, tensor<?x3x?x64xf32>) -> tensor<?x9x?x64xf32>
    ```
  }];
  let arguments = (ins
    Tfm_TensorOfRank<4>:$query, Tfm_TensorOfRank<4>:$key,
    Tfm_TensorOfRank<4>:$value, Optional<Tfm_Mask>:$mask,
    Optional<Tfm_TensorOfRank<4>>:$bias, F32Attr:$scale, UnitAttr:$causal,
    OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$window);
  let results = (outs Tfm_TensorOfRank<4>:$result);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? (`bias` $bias^)?
    (`causal` $causal^)? (`window` $window^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // TFM_ATTENTION_OPS_TD
