// RUN: tfm-opt %s -tfm-fuse-attention | FileCheck %s --implicit-check-not=tfm.softmax
// RUN: tfm-opt %s -tfm-fuse-attention | tfm-opt -tfm-fuse-attention | FileCheck %s --implicit-check-not=tfm.softmax
// The textbook form becomes one operation: scales multiply wherever they stand,
// heads and products of matrices may be written out.

!s = tensor<?x4x?x?xf32>
!q = tensor<?x4x?x6xf32>
!k = tensor<?x2x?x6xf32>
!v = tensor<?x2x?x3xf32>
!o = tensor<?x4x?x3xf32>

// CHECK-LABEL: func.func @plain
// CHECK-SAME: (%[[Q:.*]]: {{.*}}, %[[K:.*]]: {{.*}}, %[[V:.*]]: tensor<?x2x?x3xf32>)
// CHECK-NEXT: %[[O:.*]] = tfm.attention %[[Q]], %[[K]], %[[V]] {scale = 1.000000e+00 : f32} :
// CHECK-NEXT: return %[[O]]
func.func @plain(%q: !q, %k: !k, %v: !v) -> !o {
  %0 = tfm.scores %q, %k : (!q, !k) -> !s
  %1 = tfm.softmax %0 : !s
  %2 = tfm.mix %1, %v : (!s, !v) -> !o
  return %2 : !o
}

// 0.5 · 4 on the scores, 0.25 on the query, 3 on the key: 1.5.
// CHECK-LABEL: func.func @scales
// CHECK-SAME: (%[[Q:.*]]: {{.*}}, %[[K:.*]]: {{.*}}, %[[V:.*]]: tensor<?x2x?x3xf32>)
// CHECK-NEXT: tfm.attention %[[Q]], %[[K]], %[[V]] {scale = 1.500000e+00 : f32}
func.func @scales(%q: !q, %k: !k, %v: !v) -> !o {
  %qs = tfm.scale %q by 0.25 : !q
  %ks = tfm.scale %k by 3.0 : !k
  %0 = tfm.scores %qs, %ks : (!q, !k) -> !s
  %1 = tfm.scale %0 by 0.5 : !s
  %2 = tfm.scale %1 by 4.0 : !s
  %3 = tfm.softmax %2 : !s
  %4 = tfm.mix %3, %v : (!s, !v) -> !o
  return %4 : !o
}

// A scale before the heads are split and turned is taken as well, one that
// somebody else reads stays where it is.
// CHECK-LABEL: func.func @scale_of_states
// CHECK-NEXT: %[[K:.*]] = tfm.scale %arg1 by 3
// CHECK-NEXT: %[[H:.*]] = tfm.split_heads %arg0
// CHECK-NEXT: %[[Q:.*]] = tfm.rope %[[H]]
// CHECK-NEXT: %[[O:.*]] = tfm.attention %[[Q]], %[[K]], %arg2 {scale = 5.000000e-01 : f32}
// CHECK-NEXT: return %[[O]], %[[K]]
func.func @scale_of_states(%x: tensor<?x?x24xf32>, %k: !k, %v: !v) -> (!o, !k) {
  %xs = tfm.scale %x by 0.5 : tensor<?x?x24xf32>
  %ks = tfm.scale %k by 3.0 : !k
  %h = tfm.split_heads %xs into 4 : (tensor<?x?x24xf32>) -> !q
  %q = tfm.rope %h half {dims = 6 : i64, theta = 1.0e4 : f64} : !q
  %0 = tfm.scores %q, %ks : (!q, !k) -> !s
  %1 = tfm.softmax %0 : !s
  %2 = tfm.mix %1, %v : (!s, !v) -> !o
  return %2, %ks : !o, !k
}

// The scale stands behind a transposition, the heads are repeated.
// CHECK-LABEL: func.func @matmul
// CHECK-SAME: (%[[Q:.*]]: {{.*}}, %[[K:.*]]: {{.*}}, %[[V:.*]]: tensor<?x2x?x3xf32>)
// CHECK-NEXT: tfm.attention %[[Q]], %[[K]], %[[V]] {scale = 5.000000e-01 : f32}
// CHECK-NEXT: return
func.func @matmul(%q: !q, %k: !k, %v: !v) -> !o {
  %kr = tfm.repeat_heads %k by 2 : (!k) -> tensor<?x4x?x6xf32>
  %kt = tfm.transpose %kr : (tensor<?x4x?x6xf32>) -> tensor<?x4x6x?xf32>
  %ks = tfm.scale %kt by 0.5 : tensor<?x4x6x?xf32>
  %vr = tfm.repeat_heads %v by 2 : (!v) -> tensor<?x4x?x3xf32>
  %0 = tfm.matmul %q, %ks : (!q, tensor<?x4x6x?xf32>) -> !s
  %1 = tfm.softmax %0 : !s
  %2 = tfm.matmul %1, %vr : (!s, tensor<?x4x?x3xf32>) -> !o
  return %2 : !o
}
