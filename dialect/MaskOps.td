//===- MaskOps.td - Which keys a query may see -------------*- tablegen -*-===//
//
// Masks are i1, 1 = keep and 0 = masked, and broadcast over [B, H, S, T].
//
//===----------------------------------------------------------------------===//

#ifndef TFM_MASK_OPS_TD
#define TFM_MASK_OPS_TD

include "dialect/TfmTypes.td"

def Tfm_CausalMaskOp : Tfm_ValueOp<"causal_mask"> {
  let summary = "a query sees its own position and those before it";
  let description = [{
    result[0, 0, s, t] = t <= s (Vaswani et al., 2017, section 3.2.3): both
    sequences start at position 0.

    - `queries`, `keys`: S and T
    - result: [1, 1, S, T] i1

    Example:

    ```mlir
    %mask = tfm.causal_mask %s by %t : tensor<1x1x?x?xi1>
    ```
  }];
  let arguments = (ins Index:$queries, Index:$keys);
  let results = (outs Tfm_Mask:$result);
  let assemblyFormat = "$queries `by` $keys attr-dict `:` type($result)";
}

def Tfm_WindowMaskOp : Tfm_ValueOp<"window_mask"> {
  let summary = "a query sees the keys near its own position";
  let description = [{
    result[0, 0, s, t] = |s − t| < W, and with `causal` also t <= s: both
    sequences start at position 0. A causal window of W = 4 keeps 4 keys, the
    query's own and the 3 before it (Jiang et al., 2023, section 2); a symmetric
    one keeps 7, with the 3 after it.

    - `queries`, `keys`: S and T
    - `window`: W, at least 1
    - result: [1, 1, S, T] i1

    Example:

    ```mlir
    %mask = tfm.window_mask %s by %t of 4 causal : tensor<1x1x?x?xi1>
    ```
  }];
  let arguments = (ins
    Index:$queries, Index:$keys, ConfinedAttr<I64Attr, [IntPositive]>:$window,
    UnitAttr:$causal);
  let results = (outs Tfm_Mask:$result);
  let assemblyFormat = [{
    $queries `by` $keys `of` $window (`causal` $causal^)? attr-dict `:`
    type($result)
  }];
}

def Tfm_PaddingMaskOp : Tfm_ValueOp<"padding_mask"> {
  let summary = "the keys of a sample end at its length";
  let description = [{
    result[b, 0, 0, t] = t < lengths[b]. What stands behind a sample's own keys
    only pads it to the length of the longest.

    - `lengths`: [B] i32
    - `keys`: T
    - result: [B, 1, 1, T] i1

    Example:

    ```mlir
    %mask = tfm.padding_mask %lengths by %t : (tensor<?xi32>, index) -> tensor<?x1x1x?xi1>
    ```
  }];
  let arguments = (ins Tfm_PerSample:$lengths, Index:$keys);
  let results = (outs Tfm_Mask:$result);
  let assemblyFormat = [{
    $lengths `by` $keys attr-dict `:` functional-type(operands, results)
  }];
}

def Tfm_MaskAndOp : Tfm_ValueOp<"mask_and", [Commutative]> {
  let summary = "keeps what both masks keep";
  let description = [{
    result = lhs and rhs, where a dimension of 1 broadcasts.

    Rules:
    - `mask-and-c1`: each dimension of lhs and rhs is equal, or 1 in one of
      them.

    Example:

    ```mlir
    %mask = tfm.mask_and %lhs, %rhs : (tensor<1x1x?x?xi1>, tensor<?x1x1x?xi1>) -> tensor<?x1x?x?xi1>
    ```
  }];
  let arguments = (ins Tfm_Mask:$lhs, Tfm_Mask:$rhs);
  let results = (outs Tfm_Mask:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tfm_MaskNotOp : Tfm_ValueOp<"mask_not"> {
  let summary = "keeps what a mask does not keep";
  let description = [{
    result = not input. It takes a mask of the other convention, in which 1
    masks, to that of this dialect.

    Example:

    ```mlir
    %keep = tfm.mask_not %masked : tensor<?x1x1x?xi1>
    ```
  }];
  let arguments = (ins Tfm_Mask:$input);
  let results = (outs Tfm_Mask:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasFolder = 1;
}

#endif // TFM_MASK_OPS_TD
