//===- QuantizationOps.td - Integer products ---------------*- tablegen -*-===//
//
// What `tfm-quantize-activations` makes of a linear map over block-quantized
// weights: activations become 8-bit integers, and the products integer ones.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_QUANTIZATION_OPS_TD
#define TFM_QUANTIZATION_OPS_TD

include "dialect/TfmTypes.td"

def Tfm_QuantizeOp : Tfm_ValueOp<"quantize"> {
  let summary = "f32 rows to 8-bit integers with a scale per 32";
  let description = [{
    For each 32 neighbours x of a row, with a = max |x|:

        scale  = a / 127
        quants = round(x · (127 / a)), ties to even; 0 where a = 0
        sum    = scale · (sum of the 32 quants)

    All in f32. The quants are in −127..127.

    - `input`: [..., K], K a multiple of 32
    - `quants`: [..., K] i8
    - `scales`, `sums`: [..., K/32] f32

    Rules:
    - `quantize-c1`: K is a multiple of 32.

    Example:

    ```mlir
    %q, %d, %s = tfm.quantize %x : (tensor<?x576xf32>) -> (tensor<?x576xi8>, tensor<?x18xf32>, tensor<?x18xf32>)
    ```
  }];
  let arguments = (ins Tfm_Tensor:$input);
  let results = (outs Tfm_Quants:$quants, Tfm_Tensor:$scales,
                      Tfm_Tensor:$sums);
  let assemblyFormat = [{
    $input attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Tfm_QuantizedLinearOp : Tfm_ValueOp<"quantized_linear"> {
  let summary = "x·W^T with quantized x and W";
  let description = [{
    With the blocks j of 32 inputs, q the input's integers, w those of the
    weight, d and m its scale and minimum:

        result[..., n] = sum over j of
            d[n, j] · scale[..., j] · (sum over the block of w · q)   all formats
          − 8 · d[n, j] · sum[..., j]                                 q4_0
          + m[n, j] · sum[..., j]                                     q4_1

    The sum inside a block is exact in integers; blocks are added in f32, in
    ascending order.

    - `quants`, `scales`, `sums`: as `quantize` gives them, [..., K]
    - `weight`: [N, K], block-quantized
    - result: [..., N]

    Rules:
    - `quantized-linear-c1`: quants and weight have equal K.
    - `quantized-linear-c2`: scales and sums have K/32 elements per row.

    Example:

    ```mlir
    %y = tfm.quantized_linear %q, %d, %s, %w : (tensor<?x576xi8>, tensor<?x18xf32>, tensor<?x18xf32>, tensor<192x576x!tfm.block<q4_1>>) -> tensor<?x192xf32>
    ```
  }];
  let arguments = (ins Tfm_Quants:$quants, Tfm_Tensor:$scales,
                       Tfm_Tensor:$sums, TensorRankOf<[Tfm_Block], [2]>:$weight);
  let results = (outs Tfm_Tensor:$result);
  let assemblyFormat = [{
    $quants `,` $scales `,` $sums `,` $weight attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // TFM_QUANTIZATION_OPS_TD
