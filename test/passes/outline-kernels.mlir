// RUN: tfm-opt %s --tfm-outline-kernels --canonicalize --cse | FileCheck %s
// Rows are flattened, layers that are alike share a kernel, and what is computed
// tile by tile along with a map is in the map's kernel.

// CHECK-LABEL: func.func @layers
// CHECK-SAME: %[[X:.*]]: tensor<?x?x64xf32>
// CHECK-DAG: %[[ROWS:.*]] = arith.muli
// CHECK-DAG: %[[FLAT:.*]] = tensor.collapse_shape %[[X]] {{\[}}[0, 1], [2]]
// CHECK-DAG: %[[OUT:.*]] = tensor.empty(%[[ROWS]]) : tensor<?x64xf32>
// CHECK: %[[Y:.*]] = tfm.launch @linear_add(%[[FLAT]], %{{.*}}) outs(%[[OUT]]) tile [64, 32]
// CHECK: %[[Z:.*]] = tfm.launch @linear_add(%[[Y]], %{{.*}}) outs(%{{.*}}) tile [64, 32]
// CHECK: tensor.expand_shape %[[Z]]
// CHECK-NOT: tfm.add
tfm.weight @a : tensor<64x64xf16> from #tfm.file<"m", 0>
tfm.weight @b : tensor<64x64xf16> from #tfm.file<"m", 8192>
func.func @layers(%x: tensor<?x?x64xf32>) -> tensor<?x?x64xf32> {
  %a = tfm.load @a : tensor<64x64xf16>
  %b = tfm.load @b : tensor<64x64xf16>
  %0 = tfm.linear %x, %a : (tensor<?x?x64xf32>, tensor<64x64xf16>) -> tensor<?x?x64xf32>
  %1 = tfm.add %x, %0 : tensor<?x?x64xf32>
  %2 = tfm.linear %1, %b : (tensor<?x?x64xf32>, tensor<64x64xf16>) -> tensor<?x?x64xf32>
  %3 = tfm.add %1, %2 : tensor<?x?x64xf32>
  return %3 : tensor<?x?x64xf32>
}

// The relayouts of the query, attention and the merge are one kernel, cut by
// sample, 64 queries and the two heads of 16 that share a key head.
// CHECK-LABEL: func.func @attention
// CHECK: tfm.launch @attention_merge_heads({{.*}}) outs({{.*}}) tile [1, 64, 32]
// CHECK-NOT: tfm.launch
// CHECK: return
func.func @attention(%q: tensor<?x?x64xf32>, %k: tensor<?x2x?x16xf32>, %v: tensor<?x2x?x16xf32>) -> tensor<?x?x64xf32> {
  %0 = tfm.split_heads %q into 4 : (tensor<?x?x64xf32>) -> tensor<?x4x?x16xf32>
  %1 = tfm.rope %0 half {dims = 16 : i64, theta = 1.0e4 : f64} : tensor<?x4x?x16xf32>
  %2 = tfm.attention %1, %k, %v causal {scale = 0.25 : f32} : (tensor<?x4x?x16xf32>, tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>) -> tensor<?x4x?x16xf32>
  %3 = tfm.merge_heads %2 : (tensor<?x4x?x16xf32>) -> tensor<?x?x64xf32>
  return %3 : tensor<?x?x64xf32>
}

// CHECK-LABEL: tfm.kernel @linear_add(%arg0: tensor<?x64xf32>, %arg1: tensor<64x64xf16>) -> tensor<?x64xf32>
// CHECK: tfm.linear
// CHECK-NEXT: tfm.add
// CHECK-NEXT: tfm.yield
// CHECK-LABEL: tfm.kernel @attention_merge_heads
// CHECK-NEXT: tfm.split_heads
// CHECK-NEXT: tfm.rope
// CHECK-NEXT: tfm.attention
// CHECK-NEXT: tfm.merge_heads
// CHECK-NEXT: tfm.yield
// CHECK-NOT: tfm.kernel
