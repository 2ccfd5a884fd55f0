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

#endif // TFM_MASK_OPS_TD
