// RUN: tfm-opt %s -tfm-fuse-attention | FileCheck %s
// RUN: tfm-opt %s -tfm-fuse-attention | tfm-opt -tfm-fuse-attention | FileCheck %s
// The textbook form becomes one operation: scales multiply, causal masks become
// the attribute, another mask the operand, in whatever order they stand.

!s = tensor<?x4x?x?xf32>
!q = tensor<?x4x?x6xf32>
!k = tensor<?x2x?x6xf32>
!v = tensor<?x2x?x3xf32>
!o = tensor<?x4x?x3xf32>

// CHECK-LABEL: func.func @plain
// CHECK-SAME: (%[[Q:.*]]: {{.*}}, %[[K:.*]]: {{.*}}, %[[V:.*]]: tensor<?x2x?x3xf32>)
// CHECK-NEXT: %[[O:.*]] = tfm.attention %[[Q]], %[[K]], %[[V]]
// CHECK-NOT: causal
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
// CHECK-NOT: tfm.scale
// CHECK: tfm.attention %[[Q]], %[[K]], %[[V]] {{.*}}scale = 1.500000e+00
// CHECK-NOT: tfm.softmax
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

// CHECK-LABEL: func.func @masks
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<1x1x?x?xi1>
// CHECK-NOT: tfm.apply_mask
// CHECK: tfm.attention {{.*}}%[[M]]{{.*}}causal
func.func @masks(%q: !q, %k: !k, %v: !v, %m: tensor<1x1x?x?xi1>, %n: index) -> !o {
  %c = tfm.causal_mask %n by %n : tensor<1x1x?x?xi1>
  %0 = tfm.scores %q, %k : (!q, !k) -> !s
  %1 = tfm.apply_mask %0, %m : !s, tensor<1x1x?x?xi1>
  %2 = tfm.scale %1 by 0.5 : !s
  %3 = tfm.apply_mask %2, %c : !s, tensor<1x1x?x?xi1>
  %4 = tfm.softmax %3 : !s
  %5 = tfm.mix %4, %v : (!s, !v) -> !o
  return %5 : !o
}
