// RUN: tfm-opt %s -tfm-fuse-attention | FileCheck %s --implicit-check-not=tfm.attention
// Near misses stay in the textbook form.

!s = tensor<?x4x?x?xf32>
!q = tensor<?x4x?x6xf32>
!k = tensor<?x2x?x6xf32>
!o = tensor<?x4x?x6xf32>
!m = tensor<1x1x?x?xi1>

// CHECK-LABEL: func.func @probabilities_used
// CHECK: tfm.mix
func.func @probabilities_used(%q: !q, %k: !k) -> (!o, !s) {
  %0 = tfm.scores %q, %k : (!q, !k) -> !s
  %1 = tfm.softmax %0 : !s
  %2 = tfm.mix %1, %k : (!s, !k) -> !o
  return %2, %1 : !o, !s
}

// CHECK-LABEL: func.func @scores_used
// CHECK: tfm.mix
func.func @scores_used(%q: !q, %k: !k) -> (!o, !s) {
  %0 = tfm.scores %q, %k : (!q, !k) -> !s
  %1 = tfm.scale %0 by 0.5 : !s
  %2 = tfm.softmax %1 : !s
  %3 = tfm.mix %2, %k : (!s, !k) -> !o
  return %3, %0 : !o, !s
}

// A negative scale would turn the mask's -inf around, and 0 gives nan.
// CHECK-LABEL: func.func @scale_not_positive
// CHECK: tfm.scale {{.*}} by -5
// CHECK: tfm.mix
// CHECK: tfm.scale {{.*}} by 0
// CHECK: tfm.mix
func.func @scale_not_positive(%q: !q, %k: !k, %m: !m) -> (!o, !o) {
  %0 = tfm.scores %q, %k : (!q, !k) -> !s
  %1 = tfm.apply_mask %0, %m : !s, !m
  %2 = tfm.scale %1 by -0.5 : !s
  %3 = tfm.softmax %2 : !s
  %4 = tfm.mix %3, %k : (!s, !k) -> !o
  %5 = tfm.scores %q, %k : (!q, !k) -> !s
  %6 = tfm.scale %5 by 0.0 : !s
  %7 = tfm.softmax %6 : !s
  %8 = tfm.mix %7, %k : (!s, !k) -> !o
  return %4, %8 : !o, !o
}

// CHECK-LABEL: func.func @two_masks
// CHECK: tfm.mix
func.func @two_masks(%q: !q, %k: !k, %m: !m, %n: !m) -> !o {
  %0 = tfm.scores %q, %k : (!q, !k) -> !s
  %1 = tfm.apply_mask %0, %m : !s, !m
  %2 = tfm.apply_mask %1, %n : !s, !m
  %3 = tfm.softmax %2 : !s
  %4 = tfm.mix %3, %k : (!s, !k) -> !o
  return %4 : !o
}

// CHECK-LABEL: func.func @no_scores
// CHECK: tfm.mix
func.func @no_scores(%s: !s, %v: !k) -> !o {
  %0 = tfm.softmax %s : !s
  %1 = tfm.mix %0, %v : (!s, !k) -> !o
  return %1 : !o
}
