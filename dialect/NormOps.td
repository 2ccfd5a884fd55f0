//===- NormOps.td - Normalisation --------------------------*- tablegen -*-===//

#ifndef TFM_NORM_OPS_TD
#define TFM_NORM_OPS_TD

include "dialect/TfmTypes.td"

def Tfm_RmsNormOp : Tfm_ValueOp<"rms_norm"> {
  let summary = "divides a row by its root mean square";
  let description = [{
    result[..., e] = input[..., e] / sqrt(mean(input²) + epsilon) · gain[e], the
    mean over the last dimension, in f32 (Zhang and Sennrich, 2019).

    - `input`: [..., E]
    - `gain`: [E]

    Rules:
    - `rms-norm-c1`: the gain has as many elements as a row.

    Example:

    ```mlir
    %y = tfm.rms_norm %x, %gain {epsilon = 1.000000e-05 : f32} : tensor<?x?x576xf32>, tensor<576xf32>
    ```
  }];
  let arguments = (ins Tfm_Tensor:$input, Tfm_Vector:$gain, F32Attr:$epsilon);
  let results = (outs Tfm_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $gain attr-dict `:` type($input) `,` type($gain)
  }];
  let hasVerifier = 1;
}

#endif // TFM_NORM_OPS_TD
