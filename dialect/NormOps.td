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

def Tfm_LayerNormOp : Tfm_ValueOp<"layer_norm"> {
  let summary = "takes a row to mean 0 and variance 1";
  let description = [{
    result[..., e] = (input[..., e] − mean) / sqrt(variance + epsilon) · gain[e]
    + bias[e], mean and variance over the last dimension, in f32 (Ba et al.,
    2016). The variance is that of the population: the mean of the squared
    distances from the mean.

    - `input`: [..., E]
    - `gain`, `bias`: [E]

    Rules:
    - `layer-norm-c1`: gain and bias have as many elements as a row.

    Example:

    ```mlir
    %y = tfm.layer_norm %x, %gain, %bias {epsilon = 1.000000e-12 : f32} : tensor<?x?x384xf32>, tensor<384xf32>, tensor<384xf32>
    ```
  }];
  let arguments = (ins Tfm_Tensor:$input, Tfm_Vector:$gain,
                       Optional<Tfm_Vector>:$bias, F32Attr:$epsilon);
  let results = (outs Tfm_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $gain (`,` $bias^)? attr-dict `:` type($input) `,` type($gain)
    (`,` type($bias)^)?
  }];
  let hasVerifier = 1;
}

def Tfm_L2NormalizeOp : Tfm_ValueOp<"l2_normalize"> {
  let summary = "divides a row by its length";
  let description = [{
    result[..., e] = input[..., e] / max(sqrt(sum of input²), epsilon), the sum
    over the last dimension, in f32. Dot products of such rows are cosines of
    the angles between them (Reimers and Gurevych, 2019).

    Example:

    ```mlir
    %y = tfm.l2_normalize %x {epsilon = 1.000000e-12 : f32} : tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Tfm_Tensor:$input, F32Attr:$epsilon);
  let results = (outs Tfm_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def Tfm_PoolOp : Tfm_ValueOp<"pool"> {
  let summary = "makes one row of a text's rows";
  let description = [{
    `mean`: result[b, e] = the mean over s of input[b, s, e], in f32. `first`:
    result[b, e] = input[b, 0, e], the row of a token that stands for the text
    (Devlin et al., 2019). Every sample has S rows of its own; S is at least 1.

    - `input`: [B, S, E]
    - result: [B, E]

    Example:

    ```mlir
    %y = tfm.pool mean %x : (tensor<?x?x384xf32>) -> tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Tfm_PoolKind:$kind, Tfm_TensorOfRank<3>:$input);
  let results = (outs Tfm_TensorOfRank<2>:$result);
  let assemblyFormat = [{
    $kind $input attr-dict `:` functional-type(operands, results)
  }];
}

#endif // TFM_NORM_OPS_TD
