//===- StorageOps.td - Weights and resources ---------------*- tablegen -*-===//
//
// Weights never stand in the IR: symbols name them and say where their bytes
// are.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_STORAGE_OPS_TD
#define TFM_STORAGE_OPS_TD

include "dialect/TfmTypes.td"

def Tfm_WeightOp : Tfm_Op<"weight", [Symbol]> {
  let summary = "names a weight, its type and where its bytes are";
  let description = [{
    `source` is one of

    - `#tfm.file<"path", offset>`: dense little-endian elements of a file, row
      by row; blocks as `!tfm.block` says;
    - `dense<...>`: the elements themselves, for small examples;
    - `"name"`: the tensor of that name in the safetensors file that
      `tfmc --weights` gives;
    - `#tfm.packed<@weight, part>`: part of another weight, reordered.

    `placement` is the offset in the executable's weight section, given by
    `tfm-pack-weights` to the weights that are loaded.

    Rules:
    - `weight-c1`: the shape is static.
    - `weight-c2`: the innermost dimension of a block tensor is a multiple of 32.
    - `weight-c3`: dense elements have the weight's type.

    Example:

    ```mlir
    tfm.weight @blk.0.attn_q : tensor<576x576x!tfm.block<q4_1>> from #tfm.file<"model.gguf", 32020992>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<Tfm_Stored>:$type, AnyAttr:$source,
                       OptionalAttr<I64Attr>:$placement);
  let assemblyFormat = [{
    $sym_name `:` $type `from` $source (`at` $placement^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Tfm_LoadOp : Tfm_Op<"load", [
    Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a weight as a value";
  let description = [{
    Rules:
    - `load-c1`: the symbol is a `tfm.weight`.
    - `load-c2`: the result has the weight's shape and element type.

    Example:

    ```mlir
    %w = tfm.load @blk.0.attn_q : tensor<576x576x!tfm.block<q4_1>>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$weight);
  let results = (outs AnyTypeOf<[AnyRankedTensor, AnyMemRef]>:$result);
  let assemblyFormat = "$weight attr-dict `:` type($result)";
}

def Tfm_UnpackOp : Tfm_Op<"unpack", [Pure]> {
  let summary = "a weight matrix out of its packed parts";
  let description = [{
    The inverse of what `tfm-pack-weights` does, so that the body of a kernel
    says in which order its weights are stored. Rows are padded with zeros to
    whole tiles.

    A block-quantized matrix [N, K] is stored in tiles of 32 rows, as four
    groups of 8; r is the row in its group, b = k / 32 the block, and i = k % 32
    the element in the block:

    | part | type | index of row n = 32·tile + 8·group + r |
    |---|---|---|
    | `quants`, 4 bits | [N/32, K/32, 4, 4, 32] i8 | [tile, b, group, (i % 16) / 4, 4·r + i % 4], below for i < 16, above otherwise |
    | `quants`, 8 bits | [N/32, K/32, 4, 8, 32] i8 | [tile, b, group, i / 4, 4·r + i % 4] |
    | `scales`, `mins` | [N/32, K/32, 4, 8] f16 | [tile, b, group, r] |

    Any other matrix has one part in tiles of 16 rows:

    | part | type | index of row n = 16·tile + r |
    |---|---|---|
    | `values` | [N/16, K, 16] | [tile, k, r] |

    Rules:
    - `unpack-c1`: there are as many parts as the format has.
    - `unpack-c2`: each part has the type above.

    Example:

    ```mlir
    %w = tfm.unpack %quants, %scales, %mins : (tensor<6x18x4x4x32xi8>, tensor<6x18x4x8xf16>, tensor<6x18x4x8xf16>) -> tensor<192x576x!tfm.block<q4_1>>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$parts);
  let results = (outs Tfm_Matrix:$result);
  let assemblyFormat = [{
    $parts attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The parts that a weight of the given type is packed into, with their
    /// types, in the order of the operands.
    static ::llvm::SmallVector<
        std::pair<::mlir::tfm::PackedPart, ::mlir::RankedTensorType>>
    getParts(::mlir::RankedTensorType weight);
  }];
}

def Tfm_ResourceOp : Tfm_Op<"resource", [Symbol]> {
  let summary = "what travels with a model beside its weights";
  let description = [{
    | kind | what it is |
    |---|---|
    | `tokenizer` | vocabulary, merges and pre-tokenizer |
    | `chat_template` | the template that turns a conversation into a prompt |

    `source` is the model file that has it.

    Example:

    ```mlir
    tfm.resource @tokenizer kind "tokenizer" from "model.gguf"
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$kind,
                       StrAttr:$source);
  let assemblyFormat = [{
    $sym_name `kind` $kind `from` $source attr-dict
  }];
}

#endif // TFM_STORAGE_OPS_TD
