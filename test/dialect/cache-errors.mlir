// RUN: tfm-opt %s -split-input-file -verify-diagnostics
// The rules of the key/value cache.

!cache = !tfm.kv_cache<layers = 1, heads = 2, key_size = 8, value_size = 4, f16>

// cache-append-c1
func.func @append_heads(%k: tensor<1x3x1x8xf32>, %v: tensor<1x2x1x4xf32>, %c: !cache, %l: index) {
  // expected-error @+1 {{expects key and cache to have equal number of heads G, but got 3 and 2}}
  %0 = tfm.cache_append %k, %v into %c[%l] : tensor<1x3x1x8xf32>, tensor<1x2x1x4xf32>, !cache
  return
}

// -----

!cache = !tfm.kv_cache<layers = 1, heads = 2, key_size = 8, value_size = 4, f16>

// cache-append-c2
func.func @append_head_size(%k: tensor<1x2x1x8xf32>, %v: tensor<1x2x1x8xf32>, %c: !cache, %l: index) {
  // expected-error @+1 {{expects value and cache to have equal head size D, but got 8 and 4}}
  %0 = tfm.cache_append %k, %v into %c[%l] : tensor<1x2x1x8xf32>, tensor<1x2x1x8xf32>, !cache
  return
}

// -----

!cache = !tfm.kv_cache<layers = 1, heads = 2, key_size = 8, value_size = 4, f16>

// cache-append-c3
func.func @append_length(%k: tensor<1x2x3x8xf32>, %v: tensor<1x2x2x4xf32>, %c: !cache, %l: index) {
  // expected-error @+1 {{expects key and value to have equal length S, but got 3 and 2}}
  %0 = tfm.cache_append %k, %v into %c[%l] : tensor<1x2x3x8xf32>, tensor<1x2x2x4xf32>, !cache
  return
}

// -----

!cache = !tfm.kv_cache<layers = 1, heads = 2, key_size = 8, value_size = 4, f16>

// cache-c1
func.func @read_after_consuming(%c: !cache, %n: index) -> tensor<?xi32> {
  // expected-error @+1 {{expects no use of a cache after the one that consumes it}}
  %0 = tfm.cache_advance %c by %n : !cache
  // expected-note @+1 {{used here}}
  %1 = tfm.cache_lengths %c : (!cache) -> tensor<?xi32>
  return %1 : tensor<?xi32>
}

// -----

!cache = !tfm.kv_cache<layers = 1, heads = 2, key_size = 8, value_size = 4, f16>

// cache-c1
func.func @consumed_twice(%c: !cache, %n: tensor<?xi32>) -> !cache {
  // expected-error @+1 {{expects no use of a cache after the one that consumes it}}
  %0 = tfm.cache_truncate %c to %n : !cache, tensor<?xi32>
  // expected-note @+1 {{used here}}
  %1 = tfm.cache_gather %c from %n : !cache, tensor<?xi32>
  return %1 : !cache
}

// -----

!cache = !tfm.kv_cache<layers = 1, heads = 2, key_size = 8, value_size = 4, f16>

// cache-c1
tfm.kernel @append(%k: tensor<?x2x?x8xf32>, %v: tensor<?x2x?x4xf32>, %l: index, %c: !cache) -> !cache {
  %0 = tfm.cache_append %k, %v into %c[%l] : tensor<?x2x?x8xf32>, tensor<?x2x?x4xf32>, !cache
  tfm.yield %0 : !cache
}
func.func @read_after_launch(%k: tensor<?x2x?x8xf32>, %v: tensor<?x2x?x4xf32>, %l: index, %c: !cache) -> tensor<?xi32> {
  // expected-error @+1 {{expects no use of a cache after the one that consumes it}}
  %0 = tfm.launch @append(%k, %v, %l) outs(%c) tile [1, 1] : (tensor<?x2x?x8xf32>, tensor<?x2x?x4xf32>, index) outs (!cache)
  // expected-note @+1 {{used here}}
  %1 = tfm.cache_lengths %c : (!cache) -> tensor<?xi32>
  return %1 : tensor<?xi32>
}

// -----

!cache = !tfm.kv_cache<layers = 1, heads = 2, key_size = 8, value_size = 4, f16>

// cache-attention-c1
func.func @attention_head_size(%q: tensor<1x4x1x4xf32>, %c: !cache, %l: index) {
  // expected-error @+1 {{expects query and cache to have equal head size D, but got 4 and 8}}
  %0 = tfm.cache_attention %q over %c[%l] {scale = 1.0 : f32} : (tensor<1x4x1x4xf32>, !cache, index) -> tensor<1x4x1x4xf32>
  return
}

// -----

!cache = !tfm.kv_cache<layers = 1, heads = 2, key_size = 8, value_size = 4, f16>

// cache-attention-c2
func.func @attention_groups(%q: tensor<1x3x1x8xf32>, %c: !cache, %l: index) {
  // expected-error @+1 {{expects the number of query heads H to be a multiple of the key/value heads G, but got 3 and 2}}
  %0 = tfm.cache_attention %q over %c[%l] {scale = 1.0 : f32} : (tensor<1x3x1x8xf32>, !cache, index) -> tensor<1x3x1x4xf32>
  return
}

// -----

// expected-error @+1 {{expects sizes of at least 1}}
func.func private @no_layers(!tfm.kv_cache<layers = 0, heads = 2, key_size = 8, value_size = 8, f16>)

// -----

// expected-error @+1 {{expects f16 or f32 elements, but got 'i8'}}
func.func private @integers(!tfm.kv_cache<layers = 1, heads = 2, key_size = 8, value_size = 8, i8>)
