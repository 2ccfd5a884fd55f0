// RUN: tfm-opt %s -tfm-insert-kv-cache | FileCheck %s
// RUN: tfm-opt %s -tfm-insert-kv-cache | tfm-opt -tfm-insert-kv-cache | FileCheck %s
// RUN: tfm-opt %s -tfm-insert-kv-cache=element=f32 | FileCheck %s --check-prefix=F32
// RUN: tfm-opt %s '-tfm-to-fused=activations=f32' | FileCheck %s --check-prefix=F32
// RUN: tfm-opt %s -tfm-to-fused | FileCheck %s --check-prefix=F16
// @forward becomes three functions of a cache. Rotations start at the lengths
// of the cache, each attention appends and then reads it in its window, and
// where one row is wanted the last linear map computes no other.

// CHECK: ![[$CACHE:.*]] = !tfm.kv_cache<layers = 1, heads = 2, key_size = 6, value_size = 6, f16>
// F32: !tfm.kv_cache<layers = 1, heads = 2, key_size = 6, value_size = 6, f32>
// F16: !tfm.kv_cache<layers = 1, heads = 2, key_size = 6, value_size = 6, f16>
// CHECK-NOT: @forward

// CHECK-LABEL: func.func @prefill
// CHECK-SAME: (%[[T:.*]]: tensor<?x?xi32> {tfm.name = "tokens"}, %[[C:.*]]: ![[$CACHE]] {tfm.name = "cache"})
// CHECK-SAME: -> (tensor<?x40xf32> {tfm.name = "logits"}, ![[$CACHE]] {tfm.name = "cache"})
// CHECK: %[[N:.*]] = tfm.cache_lengths %[[C]]
// CHECK: tfm.rope {{.*}}%[[N]]
// CHECK: %[[K:.*]] = tfm.rope {{.*}}%[[N]]
// CHECK: %[[LAYER:.*]] = arith.constant 0 : index
// CHECK: %[[C1:.*]] = tfm.cache_append %[[K]], %{{.*}} into %[[C]][%[[LAYER]]]
// CHECK: tfm.cache_attention {{.*}}%[[C1]]{{.*}}%[[LAYER]]{{.*}}window 9 {scale = 5.000000e-01
// CHECK-NOT: tfm.attention
// CHECK: %[[ROW:.*]] = tensor.extract_slice {{.*}} to tensor<?x24xf32>
// CHECK: %[[L:.*]] = tfm.linear %[[ROW]]{{.*}} -> tensor<?x40xf32>
// CHECK: %[[S:.*]] = tensor.dim %[[T]]
// CHECK: %[[C2:.*]] = tfm.cache_advance %[[C1]]{{.*}}%[[S]]
// CHECK: return %[[L]], %[[C2]]

// CHECK-LABEL: func.func @decode
// CHECK-SAME: -> (tensor<?x40xf32>

// CHECK-LABEL: func.func @score
// CHECK-SAME: -> (tensor<?x?x40xf32>
// CHECK-NOT: tensor.extract_slice
// CHECK: tfm.linear {{.*}} -> tensor<?x?x40xf32>
tfm.weight @table : tensor<40x24xf32> from dense<1.0> : tensor<40x24xf32>
tfm.weight @kv : tensor<12x24xf32> from dense<1.0> : tensor<12x24xf32>
func.func @forward(%tokens: tensor<?x?xi32> {tfm.name = "tokens"}) -> (tensor<?x?x40xf32> {tfm.name = "logits"}) {
  %table = tfm.load @table : tensor<40x24xf32>
  %w = tfm.load @kv : tensor<12x24xf32>
  %x = tfm.embed %tokens, %table : (tensor<?x?xi32>, tensor<40x24xf32>) -> tensor<?x?x24xf32>
  %y = tfm.linear %x, %w : (tensor<?x?x24xf32>, tensor<12x24xf32>) -> tensor<?x?x12xf32>
  %qh = tfm.split_heads %x into 4 : (tensor<?x?x24xf32>) -> tensor<?x4x?x6xf32>
  %v = tfm.split_heads %y into 2 : (tensor<?x?x12xf32>) -> tensor<?x2x?x6xf32>
  %q = tfm.rope %qh interleaved {dims = 6 : i64, theta = 1.0e4 : f64} : tensor<?x4x?x6xf32>
  %k = tfm.rope %v interleaved {dims = 6 : i64, theta = 1.0e4 : f64} : tensor<?x2x?x6xf32>
  %o = tfm.attention %q, %k, %v causal window 9 {scale = 0.5 : f32} : (tensor<?x4x?x6xf32>, tensor<?x2x?x6xf32>, tensor<?x2x?x6xf32>) -> tensor<?x4x?x6xf32>
  %m = tfm.merge_heads %o : (tensor<?x4x?x6xf32>) -> tensor<?x?x24xf32>
  %a = tfm.add %x, %m : tensor<?x?x24xf32>
  %r = tfm.linear %a, %table : (tensor<?x?x24xf32>, tensor<40x24xf32>) -> tensor<?x?x40xf32>
  return %r : tensor<?x?x40xf32>
}
