// RUN: tfm-opt %s -tfm-fuse-attention -verify-diagnostics | FileCheck %s --implicit-check-not=tfm.attention
// Near misses stay in the textbook form, with a remark that says why.

!s = tensor<?x4x?x?xf32>
!q = tensor<?x4x?x6xf32>
!k = tensor<?x2x?x6xf32>
!m = tensor<1x1x?x?xi1>
!b = tensor<1x4x?x?xf32>

// CHECK-LABEL: func.func @probabilities_used
// CHECK: tfm.mix
func.func @probabilities_used(%q: !q, %k: !k) -> (!q, !s) {
  %0 = tfm.scores %q, %k : (!q, !k) -> !s
  // expected-note @+1 {{see here}}
  %1 = tfm.softmax %0 : !s
  // expected-remark @+1 {{attention left unfused: the probabilities have other uses}}
  %2 = tfm.mix %1, %k : (!s, !k) -> !q
  return %2, %1 : !q, !s
}

// CHECK-LABEL: func.func @scores_used
// CHECK: tfm.mix
func.func @scores_used(%q: !q, %k: !k) -> (!q, !s) {
  // expected-note @+1 {{see here}}
  %0 = tfm.scores %q, %k : (!q, !k) -> !s
  %1 = tfm.scale %0 by 0.5 : !s
  %2 = tfm.softmax %1 : !s
  // expected-remark @+1 {{attention left unfused: the result of 'tfm.scores' has other uses}}
  %3 = tfm.mix %2, %k : (!s, !k) -> !q
  return %3, %0 : !q, !s
}

// A negative scale would turn the mask's -inf around, and 0 gives nan.
// CHECK-LABEL: func.func @scale_not_positive
// CHECK: tfm.scale {{.*}} by -5
// CHECK: tfm.mix
// CHECK: tfm.scale {{.*}} by 0
// CHECK: tfm.mix
func.func @scale_not_positive(%q: !q, %k: !k, %m: !m, %b: !b) -> (!q, !q) {
  %0 = tfm.scores %q, %k : (!q, !k) -> !s
  // expected-note @+1 {{see here}}
  %1 = tfm.apply_mask %0, %m : !s, !m
  %2 = tfm.scale %1 by -0.5 : !s
  %3 = tfm.softmax %2 : !s
  // expected-remark @+1 {{attention left unfused: the scale after a mask or bias is not greater than 0}}
  %4 = tfm.mix %3, %k : (!s, !k) -> !q
  %5 = tfm.scores %q, %k : (!q, !k) -> !s
  // expected-note @+1 {{see here}}
  %6 = tfm.add_bias %5, %b : !s, !b
  %7 = tfm.scale %6 by 0.0 : !s
  %8 = tfm.softmax %7 : !s
  // expected-remark @+1 {{attention left unfused: the scale after a mask or bias is not greater than 0}}
  %9 = tfm.mix %8, %k : (!s, !k) -> !q
  return %4, %9 : !q, !q
}

// CHECK-LABEL: func.func @scale_not_finite
// CHECK: tfm.mix
func.func @scale_not_finite(%q: !q, %k: !k) -> !q {
  %0 = tfm.scores %q, %k : (!q, !k) -> !s
  %1 = tfm.scale %0 by 1.0e30 : !s
  %2 = tfm.scale %1 by 1.0e30 : !s
  %3 = tfm.softmax %2 : !s
  // expected-remark @+1 {{attention left unfused: the product of the scales is not finite}}
  %4 = tfm.mix %3, %k : (!s, !k) -> !q
  return %4 : !q
}

// CHECK-LABEL: func.func @two_masks
// CHECK: tfm.mix
func.func @two_masks(%q: !q, %k: !k, %m: tensor<1x1x3x?xi1>, %n: tensor<1x1x4x?xi1>) -> !q {
  %0 = tfm.scores %q, %k : (!q, !k) -> !s
  %1 = tfm.apply_mask %0, %m : !s, tensor<1x1x3x?xi1>
  %2 = tfm.apply_mask %1, %n : !s, tensor<1x1x4x?xi1>
  %3 = tfm.softmax %2 : !s
  // expected-remark @+1 {{attention left unfused: two masks have different shapes}}
  %4 = tfm.mix %3, %k : (!s, !k) -> !q
  return %4 : !q
}

// CHECK-LABEL: func.func @two_biases
// CHECK: tfm.mix
func.func @two_biases(%q: !q, %k: !k, %b: !b) -> !q {
  %0 = tfm.scores %q, %k : (!q, !k) -> !s
  // expected-note @+1 {{see here}}
  %1 = tfm.add_bias %0, %b : !s, !b
  %2 = tfm.add_bias %1, %b : !s, !b
  %3 = tfm.softmax %2 : !s
  // expected-remark @+1 {{attention left unfused: there are two biases}}
  %4 = tfm.mix %3, %k : (!s, !k) -> !q
  return %4 : !q
}

// CHECK-LABEL: func.func @heads
// CHECK: tfm.mix
func.func @heads(%q: !q, %k: !k, %v: !q) -> !q {
  %kr = tfm.repeat_heads %k by 2 : (!k) -> !q
  %0 = tfm.scores %q, %kr : (!q, !q) -> !s
  %1 = tfm.softmax %0 : !s
  // expected-remark @+1 {{attention left unfused: key and value may have different numbers of heads}}
  %2 = tfm.mix %1, %v : (!s, !q) -> !q
  return %2 : !q
}

// CHECK-LABEL: func.func @no_scores
// CHECK: tfm.mix
// CHECK: tfm.mix
func.func @no_scores(%s: !s, %v: !k) -> (!q, !q) {
  // expected-note @+1 {{see here}}
  %0 = tfm.softmax %s : !s
  // expected-remark @+1 {{attention left unfused: expects scores, scale, add_bias, add or apply_mask before the softmax}}
  %1 = tfm.mix %0, %v : (!s, !k) -> !q
  // expected-note @+1 {{see here}}
  %2 = tfm.mul %s, %s : !s
  %3 = tfm.softmax %2 : !s
  // expected-remark @+1 {{attention left unfused: expects scores, scale, add_bias, add or apply_mask before the softmax}}
  %4 = tfm.mix %3, %v : (!s, !k) -> !q
  return %1, %4 : !q, !q
}

// A mix of anything else is no attention.
// CHECK-LABEL: func.func @no_softmax
// CHECK: tfm.mix
func.func @no_softmax(%s: !s, %v: !k) -> !q {
  %0 = tfm.mix %s, %v : (!s, !k) -> !q
  return %0 : !q
}
