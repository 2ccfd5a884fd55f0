//===- TfmTypes.td - Types and attributes of tfm -----------*- tablegen -*-===//
//
// The block-quantized element, the key/value cache, the enums, and the
// attributes that say what a model is and where its bytes are.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_TYPES_TD
#define TFM_TYPES_TD

include "dialect/TfmDialect.td"

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

def Tfm_BlockFormat : I32EnumAttr<"BlockFormat", "block-quantized storage", [
    I32EnumAttrCase<"Q4_0", 0, "q4_0">,
    I32EnumAttrCase<"Q4_1", 1, "q4_1">,
    I32EnumAttrCase<"Q8_0", 2, "q8_0">]> {
  let cppNamespace = "::mlir::tfm";
}

def Tfm_ActivationKind : I32EnumAttr<"ActivationKind", "activation function", [
    I32EnumAttrCase<"Relu", 0, "relu">,
    I32EnumAttrCase<"Gelu", 1, "gelu">,
    I32EnumAttrCase<"GeluTanh", 2, "gelu_tanh">,
    I32EnumAttrCase<"Silu", 3, "silu">]> {
  let cppNamespace = "::mlir::tfm";
}

def Tfm_RopeStyle : I32EnumAttr<"RopeStyle", "which elements rope pairs", [
    I32EnumAttrCase<"Interleaved", 0, "interleaved">,
    I32EnumAttrCase<"Half", 1, "half">]> {
  let cppNamespace = "::mlir::tfm";
}

def Tfm_PoolKind : I32EnumAttr<"PoolKind", "how rows become one", [
    I32EnumAttrCase<"Mean", 0, "mean">,
    I32EnumAttrCase<"First", 1, "first">]> {
  let cppNamespace = "::mlir::tfm";
}

def Tfm_PackedPart : I32EnumAttr<"PackedPart", "part of a packed weight", [
    I32EnumAttrCase<"Quants", 0, "quants">,
    I32EnumAttrCase<"Scales", 1, "scales">,
    I32EnumAttrCase<"Mins", 2, "mins">,
    I32EnumAttrCase<"Values", 3, "values">]> {
  let cppNamespace = "::mlir::tfm";
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def Tfm_BlockType : Tfm_Type<"Block", "block"> {
  let summary = "an element of a block-quantized weight";
  let description = [{
    Dimensions of a tensor of blocks count logical elements; the innermost is a
    multiple of 32, and every 32 neighbours share a scale. With f16 scale d,
    f16 minimum m and stored integers q, as in the GGUF specification:

    | format | bytes per block | element |
    |---|---|---|
    | `q4_0` | 18: d, 16 × two nibbles | d · (q − 8), 0 ≤ q < 16 |
    | `q4_1` | 20: d, m, 16 × two nibbles | d · q + m, 0 ≤ q < 16 |
    | `q8_0` | 34: d, 32 × i8 | d · q |

    Byte i of the nibbles holds element i below and element i + 16 above.
    Example: `tensor<576x576x!tfm.block<q4_1>>`.
  }];
  let parameters = (ins EnumParameter<Tfm_BlockFormat>:$format);
  let assemblyFormat = "`<` $format `>`";
  let extraClassDeclaration = [{
    /// Neighbours along the innermost dimension that share a scale.
    static constexpr int64_t kBlockSize = 32;
    /// Bytes that a block takes in a GGUF file.
    int64_t getBlockBytes() const;
  }];
}

def Tfm_KvCacheType : Tfm_Type<"KvCache", "kv_cache"> {
  let summary = "keys and values of every layer, with a length per sample";
  let description = [{
    Conceptually, per layer, keys [B, G, T, D] and values [B, G, T, D'], and one
    length per sample; the batch and the largest T are run-time sizes.

    The type is linear: a value is consumed at most once (by `cache_append`,
    `cache_advance`, `cache_truncate`, `cache_gather`, a launch's `outs`, or a
    terminator), nothing reads it afterwards, and so updates happen in place.
  }];
  let parameters = (ins
    "int64_t":$layers, "int64_t":$heads, "int64_t":$keySize,
    "int64_t":$valueSize, "::mlir::Type":$elementType);
  let assemblyFormat = [{
    `<` `layers` `=` $layers `,` `heads` `=` $heads `,` `key_size` `=` $keySize
    `,` `value_size` `=` $valueSize `,` $elementType `>`
  }];
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Tfm_ModelAttr : Tfm_Attr<"Model", "model"> {
  let summary = "what a module is a model of";
  let description = [{
    Stands on the module as `tfm.model`. `context` is the largest number of
    tokens, `bos` and `eos` are token ids or −1, `add_bos` says that prompts
    start with `bos`.
  }];
  let parameters = (ins
    StringRefParameter<>:$name, StringRefParameter<>:$architecture,
    "int64_t":$contextLength, "int64_t":$vocabulary, "int64_t":$bos, "int64_t":$eos,
    "bool":$addBos);
  let assemblyFormat = [{
    `<` `name` `=` $name `,` `architecture` `=` $architecture `,` `context` `=`
    $contextLength `,` `vocabulary` `=` $vocabulary `,` `bos` `=` $bos `,` `eos` `=`
    $eos `,` `add_bos` `=` $addBos `>`
  }];
}

def Tfm_FileAttr : Tfm_Attr<"File", "file"> {
  let summary = "bytes of a file, from an offset on";
  let parameters = (ins StringRefParameter<>:$path, "uint64_t":$offset);
  let assemblyFormat = "`<` $path `,` $offset `>`";
}

def Tfm_PackedAttr : Tfm_Attr<"Packed", "packed"> {
  let summary = "one part of another weight, in the order that kernels read";
  let description = [{
    What `tfm-pack-weights` makes of a weight; `tfm.unpack` documents the order
    of each part.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$weight,
                        EnumParameter<Tfm_PackedPart>:$part);
  let assemblyFormat = "`<` $weight `,` $part `>`";
}

def Tfm_ArenaAttr : Tfm_Attr<"Arena", "arena"> {
  let summary = "how many bytes of temporaries an entry point needs";
  let description = [{
    `per_row` · B · S + `per_sample` · B + `fixed`, stands on a planned function
    as `tfm.arena`.
  }];
  let parameters = (ins "int64_t":$perRow, "int64_t":$perSample,
                        "int64_t":$fixed);
  let assemblyFormat = [{
    `<` `per_row` `=` $perRow `,` `per_sample` `=` $perSample `,` `fixed` `=`
    $fixed `>`
  }];
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

def Tfm_Block : Type<CPred<"::llvm::isa<::mlir::tfm::BlockType>($_self)">,
                     "block-quantized element">;

/// Activations: f32, at least one dimension.
def Tfm_Tensor : Non0RankedTensorOf<[F32]>;
def Tfm_Quants : Non0RankedTensorOf<[I8]>;
class Tfm_TensorOfRank<int rank> : TensorRankOf<[F32], [rank]>;
/// Weights as the file has them.
def Tfm_Weight : RankedTensorOf<[F32, F16, BF16, Tfm_Block]>;
/// What a file can hold.
def Tfm_Stored : RankedTensorOf<[AnySignlessInteger, AnyFloat, Tfm_Block]>;
def Tfm_Matrix : TensorRankOf<[F32, F16, BF16, Tfm_Block], [2]>;
def Tfm_Vector : TensorRankOf<[F32, F16, BF16], [1]>;
/// One i32 per sample.
def Tfm_PerSample : TensorRankOf<[I32], [1]>;
/// Token ids: [B, S] or [R].
def Tfm_Tokens : TensorRankOf<[I32], [1, 2]>;
/// Broadcasts over [B, H, S, T].
def Tfm_Mask : TensorRankOf<[I1], [4]>;

#endif // TFM_TYPES_TD
