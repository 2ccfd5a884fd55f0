//===- FfnOps.td - Linear maps and the feed-forward network -*- tablegen -*-==//

#ifndef TFM_FFN_OPS_TD
#define TFM_FFN_OPS_TD

include "dialect/TfmTypes.td"

def Tfm_LinearOp : Tfm_ValueOp<"linear"> {
  let summary = "x·W^T + b";
  let description = [{
    result[..., n] = sum over k of input[..., k] · weight[n, k] + bias[n], in
    f32.

    - `input`: [..., K]
    - `weight`: [N, K], any weight type
    - `bias`: [N]

    Rules:
    - `linear-c1`: input and weight have equal K.
    - `linear-c2`: weight and bias have equal N.

    Example:

    ```mlir
    %y = tfm.linear %x, %w : (tensor<?x?x576xf32>, tensor<192x576x!tfm.block<q4_1>>) -> tensor<?x?x192xf32>
    ```
  }];
  let arguments = (ins Tfm_Tensor:$input, Tfm_Matrix:$weight,
                       Optional<Tfm_Vector>:$bias);
  let results = (outs Tfm_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $weight (`,` $bias^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Tfm_ActivationOp : Tfm_ValueOp<"activation"> {
  let summary = "an activation function, element by element";
  let description = [{
    | kind | formula | source |
    |---|---|---|
    | `relu` | max(x, 0) | Vaswani et al., 2017 |
    | `gelu` | x/2 · (1 + erf(x/sqrt(2))) | Hendrycks and Gimpel, 2016 |
    | `gelu_tanh` | x/2 · (1 + tanh(sqrt(2/pi) · (x + 0.044715·x³))) | the same |
    | `silu` | x / (1 + exp(−x)) | Elfwing et al., 2017 |

    Example:

    ```mlir
    %y = tfm.activation silu %x : tensor<?x?x1536xf32>
    ```
  }];
  let arguments = (ins Tfm_ActivationKind:$kind, Tfm_Tensor:$input);
  let results = (outs Tfm_Tensor:$result);
  let assemblyFormat = "$kind $input attr-dict `:` type($input)";
}

class Tfm_BinaryOp<string mnemonic, string verb>
    : Tfm_ValueOp<mnemonic, [Commutative, SameTypeOperands]> {
  let summary = verb # " two tensors of one shape, element by element";
  let arguments = (ins Tfm_Tensor:$lhs, Tfm_Tensor:$rhs);
  let results = (outs Tfm_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs)";
}

def Tfm_AddOp : Tfm_BinaryOp<"add", "adds"> {
  let description = [{
    The residual connection around each sublayer.

    Example:

    ```mlir
    %z = tfm.add %x, %y : tensor<?x?x576xf32>
    ```
  }];
}

def Tfm_MulOp : Tfm_BinaryOp<"mul", "multiplies"> {
  let description = [{
    The gate of a gated feed-forward network.

    Example:

    ```mlir
    %z = tfm.mul %gate, %up : tensor<?x?x1536xf32>
    ```
  }];
}

def Tfm_AddVectorOp : Tfm_ValueOp<"add_vector"> {
  let summary = "adds one vector to every row";
  let description = [{
    result[..., e] = input[..., e] + vector[e], in f32: a bias, or the embedding
    of a token type that all tokens have.

    - `input`: [..., E]
    - `vector`: [E]

    Rules:
    - `add-vector-c1`: the vector has as many elements as a row.

    Example:

    ```mlir
    %z = tfm.add_vector %x, %v : tensor<?x?x384xf32>, tensor<384xf32>
    ```
  }];
  let arguments = (ins Tfm_Tensor:$input, Tfm_Vector:$vector);
  let results = (outs Tfm_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $vector attr-dict `:` type($input) `,` type($vector)
  }];
  let hasVerifier = 1;
}

def Tfm_FfnOp : Tfm_ValueOp<"ffn", [AttrSizedOperandSegments]> {
  let summary = "the feed-forward network, plain or gated";
  let description = [{
    Plain: down(act(up(x))) (Vaswani et al., 2017, equation 2). With `gate`:
    down(act(gate(x)) · up(x)) (Shazeer, 2020). The maps are `linear`, each with
    a bias of its own or none.

    - `input`: [..., E]
    - `up`, `gate`: [F, E]
    - `down`: [E', F]
    - `up_bias`, `gate_bias`: [F]
    - `down_bias`: [E']
    - result: [..., E']

    Rules:
    - `ffn-c1`: input and up have equal E.
    - `ffn-c2`: up and gate have equal shapes.
    - `ffn-c3`: up and down have equal F.
    - `ffn-c4`: a map and its bias have equal outer size.
    - `ffn-c5`: there is no gate's bias without a gate.

    Example:

    ```mlir
    %y = tfm.ffn silu %x up %u down %d gate %g : (tensor<?x?x576xf32>, tensor<1536x576xf16>, tensor<576x1536xf16>, tensor<1536x576xf16>) -> tensor<?x?x576xf32>
    ```
  }];
  let arguments = (ins
    Tfm_ActivationKind:$kind, Tfm_Tensor:$input, Tfm_Matrix:$up,
    Tfm_Matrix:$down, Optional<Tfm_Matrix>:$gate,
    Optional<Tfm_Vector>:$up_bias, Optional<Tfm_Vector>:$down_bias,
    Optional<Tfm_Vector>:$gate_bias);
  let results = (outs Tfm_Tensor:$result);
  let assemblyFormat = [{
    $kind $input `up` $up (`bias` $up_bias^)? `down` $down
    (`bias` $down_bias^)? (`gate` $gate^)? (`gate_bias` $gate_bias^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// Writes the network as linear maps, activation and gate at the builder's
    /// insertion point and returns the result.
    ::mlir::Value expand(::mlir::OpBuilder &builder);
  }];
  let hasVerifier = 1;
}

#endif // TFM_FFN_OPS_TD
