//===- CacheOps.td - The key/value cache -------------------*- tablegen -*-===//
//
// The cache holds keys and values of every layer and one length per sample. Its
// type is linear: operations that change it consume one value and give the
// next, so that updates happen in place.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_CACHE_OPS_TD
#define TFM_CACHE_OPS_TD

include "dialect/TfmTypes.td"

class Tfm_CacheUpdateOp<string mnemonic, list<Trait> traits = []>
    : Tfm_Op<mnemonic, traits # [Pure, AllTypesMatch<["cache", "result"]>]> {
  let results = (outs Tfm_KvCacheType:$result);
  let hasVerifier = 1;
}

def Tfm_CacheCreateOp : Tfm_Op<"cache_create", [Pure]> {
  let summary = "an empty cache";
  let description = [{
    - `batch`: B, the samples
    - `context`: the largest number of positions per sample

    All lengths are 0.

    Example:

    ```mlir
    %cache = tfm.cache_create %batch, %context : !tfm.kv_cache<layers = 30, heads = 3, key_size = 64, value_size = 64, f16>
    ```
  }];
  let arguments = (ins Index:$batch, Index:$context);
  let results = (outs Tfm_KvCacheType:$result);
  let assemblyFormat = "$batch `,` $context attr-dict `:` type($result)";
}

def Tfm_CacheLengthsOp : Tfm_Op<"cache_lengths", [Pure]> {
  let summary = "how many positions of each sample hold a token";
  let description = [{
    - result: [B] i32

    Example:

    ```mlir
    %lengths = tfm.cache_lengths %cache : (!tfm.kv_cache<layers = 1, heads = 3, key_size = 64, value_size = 64, f16>) -> tensor<?xi32>
    ```
  }];
  let arguments = (ins Tfm_KvCacheType:$cache);
  let results = (outs AnyTypeOf<[Tfm_PerSample, MemRefRankOf<[I32], [1]>]>:$result);
  let assemblyFormat = [{
    $cache attr-dict `:` functional-type(operands, results)
  }];
}

def Tfm_CacheAppendOp : Tfm_CacheUpdateOp<"cache_append"> {
  let summary = "writes new keys and values of one layer";
  let description = [{
    Row s of sample b goes to position lengths[b] + s of the layer, rounded to
    the cache's element type. The lengths stay as they are until
    `cache_advance`, so that every layer of a step sees the same ones.

    - `key`: [B, G, S, D]
    - `value`: [B, G, S, D']
    - `layer`: 0..L−1

    Rules:
    - `cache-append-c1`: key and value have the cache's number of heads.
    - `cache-append-c2`: key and value have the cache's head sizes.
    - `cache-append-c3`: key and value have equal S.
    - `cache-c1`: the cache has no use after the one that consumes it.

    Example:

    ```mlir
    %next = tfm.cache_append %k, %v into %cache[%layer] : tensor<?x3x?x64xf32>, tensor<?x3x?x64xf32>, !tfm.kv_cache<layers = 30, heads = 3, key_size = 64, value_size = 64, f16>
    ```
  }];
  let arguments = (ins Tfm_TensorOfRank<4>:$key, Tfm_TensorOfRank<4>:$value,
                       Tfm_KvCacheType:$cache, Index:$layer);
  let assemblyFormat = [{
    $key `,` $value `into` $cache `[` $layer `]` attr-dict `:` type($key) `,`
    type($value) `,` type($cache)
  }];
}

def Tfm_CacheAdvanceOp : Tfm_CacheUpdateOp<"cache_advance"> {
  let summary = "counts appended positions";
  let description = [{
    lengths[b] += `count` for every sample.

    Rules:
    - `cache-c1`: the cache has no use after the one that consumes it.

    Example:

    ```mlir
    %next = tfm.cache_advance %cache by %count : !tfm.kv_cache<layers = 30, heads = 3, key_size = 64, value_size = 64, f16>
    ```
  }];
  let arguments = (ins Tfm_KvCacheType:$cache, Index:$count);
  let assemblyFormat = "$cache `by` $count attr-dict `:` type($cache)";
}

def Tfm_CacheTruncateOp : Tfm_CacheUpdateOp<"cache_truncate"> {
  let summary = "forgets the newest positions";
  let description = [{
    lengths[b] = min(lengths[b], `lengths`[b]).

    Rules:
    - `cache-c1`: the cache has no use after the one that consumes it.

    Example:

    ```mlir
    %next = tfm.cache_truncate %cache to %lengths : !tfm.kv_cache<layers = 30, heads = 3, key_size = 64, value_size = 64, f16>, tensor<?xi32>
    ```
  }];
  let arguments = (ins Tfm_KvCacheType:$cache, Tfm_PerSample:$lengths);
  let assemblyFormat = [{
    $cache `to` $lengths attr-dict `:` type($cache) `,` type($lengths)
  }];
}

def Tfm_CacheGatherOp : Tfm_CacheUpdateOp<"cache_gather"> {
  let summary = "chooses samples, as beam search does";
  let description = [{
    Sample i of the result is sample `samples`[i] of the cache, with its keys,
    values and length.

    Rules:
    - `cache-c1`: the cache has no use after the one that consumes it.

    Example:

    ```mlir
    %next = tfm.cache_gather %cache from %samples : !tfm.kv_cache<layers = 30, heads = 3, key_size = 64, value_size = 64, f16>, tensor<?xi32>
    ```
  }];
  let arguments = (ins Tfm_KvCacheType:$cache, Tfm_PerSample:$samples);
  let assemblyFormat = [{
    $cache `from` $samples attr-dict `:` type($cache) `,` type($samples)
  }];
}

def Tfm_CacheAttentionOp : Tfm_ValueOp<"cache_attention"> {
  let summary = "causal attention over a cache with a length per sample";
  let description = [{
    Query s of sample b stands at position p = lengths[b] + s, whose key and
    value have been appended already, and sees the positions 0..p of its own
    sample, or with `window` W the last W of them:

        result[b, h, s] = softmax over p − W < t <= p of
            (scale · query[b, h, s] · key[b, g, t]) mixing value[b, g, t]

    with g = h / (H / G). Keys and values are read as stored, the rest is f32.

    - `query`: [B, H, S, D]
    - `layer`: 0..L−1
    - result: [B, H, S, D']

    Rules:
    - `cache-attention-c1`: the query has the cache's key size.
    - `cache-attention-c2`: H is a multiple of the cache's number of heads.

    Example:

    ```mlir
    %o = tfm.cache_attention %q over %cache[%layer] {scale = 1.250000e-01 : f32} : (tensor<?x9x?x64xf32>, !tfm.kv_cache<layers = 30, heads = 3, key_size = 64, value_size = 64, f16>, index) -> tensor<?x9x?x64xf32>
    ```
  }];
  let arguments = (ins Tfm_TensorOfRank<4>:$query, Tfm_KvCacheType:$cache,
                       Index:$layer, F32Attr:$scale,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>
                           :$window);
  let results = (outs Tfm_TensorOfRank<4>:$result);
  let assemblyFormat = [{
    $query `over` $cache `[` $layer `]` (`window` $window^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // TFM_CACHE_OPS_TD
