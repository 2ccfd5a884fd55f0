// RUN: tfm-opt %s -tfm-fuse-attention | FileCheck %s --implicit-check-not=tfm.softmax
// RUN: tfm-opt %s -tfm-fuse-attention | tfm-opt -tfm-fuse-attention | FileCheck %s --implicit-check-not=tfm.softmax
// Masks and biases become operands wherever they stand between scores and
// softmax. Several attentions share a mask.

!s = tensor<?x4x?x?xf32>
!q = tensor<?x4x?x6xf32>
!k = tensor<?x2x?x6xf32>
!m = tensor<?x1x1x?xi1>
!b = tensor<1x4x?x?xf32>

// CHECK-LABEL: func.func @masks
// CHECK-NEXT: %[[A:.*]] = tfm.attention %arg0, %arg1, %arg1 mask %arg2 {scale = 5.000000e-01 : f32}
// CHECK-NEXT: %[[B:.*]] = tfm.attention %[[A]], %arg1, %arg1 mask %arg2 {scale = 5.000000e-01 : f32}
// CHECK-NEXT: return %[[B]]
func.func @masks(%q: !q, %k: !k, %m: !m) -> !q {
  %0 = tfm.scores %q, %k : (!q, !k) -> !s
  %1 = tfm.scale %0 by 0.5 : !s
  %2 = tfm.apply_mask %1, %m : !s, !m
  %3 = tfm.softmax %2 : !s
  %4 = tfm.mix %3, %k : (!s, !k) -> !q
  %5 = tfm.scores %4, %k : (!q, !k) -> !s
  %6 = tfm.apply_mask %5, %m : !s, !m
  %7 = tfm.scale %6 by 0.5 : !s
  %8 = tfm.apply_mask %7, %m : !s, !m
  %9 = tfm.softmax %8 : !s
  %10 = tfm.mix %9, %k : (!s, !k) -> !q
  return %10 : !q
}

// What is scaled before it is masked may have any factor.
// CHECK-LABEL: func.func @negative_scale
// CHECK-NEXT: tfm.attention %arg0, %arg1, %arg1 mask %arg2 {scale = -5.000000e-01 : f32}
func.func @negative_scale(%q: !q, %k: !k, %m: !m) -> !q {
  %0 = tfm.scores %q, %k : (!q, !k) -> !s
  %1 = tfm.scale %0 by -0.5 : !s
  %2 = tfm.apply_mask %1, %m : !s, !m
  %3 = tfm.softmax %2 : !s
  %4 = tfm.mix %3, %k : (!s, !k) -> !q
  return %4 : !q
}

// CHECK-LABEL: func.func @bias
// CHECK-NEXT: tfm.attention %arg0, %arg1, %arg1 mask %arg2 bias %arg3 {scale = 5.000000e-01 : f32}
func.func @bias(%q: !q, %k: !k, %m: !m, %b: !b) -> !q {
  %0 = tfm.scores %q, %k : (!q, !k) -> !s
  %1 = tfm.scale %0 by 0.5 : !s
  %2 = tfm.add_bias %1, %b : !s, !b
  %3 = tfm.apply_mask %2, %m : !s, !m
  %4 = tfm.softmax %3 : !s
  %5 = tfm.mix %4, %k : (!s, !k) -> !q
  return %5 : !q
}

// 0.5 · (s + b) = 0.5 · s + 0.5 · b, but not the 3 before.
// CHECK-LABEL: func.func @bias_before_scale
// CHECK-NEXT: %[[B:.*]] = tfm.scale %arg2 by 5.000000e-01
// CHECK-NEXT: tfm.attention %arg0, %arg1, %arg1 bias %[[B]] {scale = 1.500000e+00 : f32}
func.func @bias_before_scale(%q: !q, %k: !k, %b: !b) -> !q {
  %0 = tfm.scores %q, %k : (!q, !k) -> !s
  %1 = tfm.scale %0 by 3.0 : !s
  %2 = tfm.add_bias %1, %b : !s, !b
  %3 = tfm.scale %2 by 0.5 : !s
  %4 = tfm.softmax %3 : !s
  %5 = tfm.mix %4, %k : (!s, !k) -> !q
  return %5 : !q
}

// On either side of a plain sum.
// CHECK-LABEL: func.func @sum
// CHECK-NEXT: tfm.attention %arg0, %arg1, %arg1 bias %arg2 {scale = 1.000000e+00 : f32}
// CHECK-NEXT: tfm.attention %arg0, %arg1, %arg1 bias %arg2 {scale = 1.000000e+00 : f32}
func.func @sum(%q: !q, %k: !k, %b: !s) -> (!q, !q) {
  %0 = tfm.scores %q, %k : (!q, !k) -> !s
  %1 = tfm.add %0, %b : !s
  %2 = tfm.softmax %1 : !s
  %3 = tfm.mix %2, %k : (!s, !k) -> !q
  %4 = tfm.scores %q, %k : (!q, !k) -> !s
  %5 = tfm.add %b, %4 : !s
  %6 = tfm.softmax %5 : !s
  %7 = tfm.mix %6, %k : (!s, !k) -> !q
  return %3, %7 : !q, !q
}
