// RUN: tfm-opt %s -tfm-fuse-attention -verify-diagnostics | FileCheck %s --implicit-check-not=causal
// Near misses of causal masks stay masks.

!q = tensor<?x2x?x4xf32>
!s = tensor<?x2x?x?xf32>
!m = tensor<1x1x?x?xi1>

// The lengths might be those of something else: 1 would broadcast.
// CHECK-LABEL: func.func @lengths
// CHECK: %[[M:.*]] = tfm.causal{{_}}mask
// CHECK: tfm.attention %arg0, %arg0, %arg0 mask %[[M]]
func.func @lengths(%q: !q, %n: index) -> !q {
  // expected-remark @+1 {{stays a mask: it is not provably t <= s over the lengths S and T of the scores}}
  %m = tfm.causal_mask %n by %n : !m
  %0 = tfm.scores %q, %q : (!q, !q) -> !s
  %1 = tfm.apply_mask %0, %m : !s, !m
  %2 = tfm.softmax %1 : !s
  %3 = tfm.mix %2, %q : (!s, !q) -> !q
  return %3 : !q
}

// CHECK-LABEL: func.func @one_row
// CHECK: tfm.causal{{_}}mask
// CHECK: tfm.attention {{.*}} mask
func.func @one_row(%q: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  // expected-remark @+1 {{stays a mask}}
  %m = tfm.causal_mask %one by %three : tensor<1x1x1x3xi1>
  %0 = tfm.scores %q, %q : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x3xf32>
  %1 = tfm.apply_mask %0, %m : tensor<1x2x3x3xf32>, tensor<1x1x1x3xi1>
  %2 = tfm.softmax %1 : tensor<1x2x3x3xf32>
  %3 = tfm.mix %2, %q : (tensor<1x2x3x3xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return %3 : tensor<1x2x3x4xf32>
}

// Comparisons that are not t <= s: strict; t <= s + T - S for another T; of an
// unsigned difference, which wraps around; a window; of another dimension.
// CHECK-LABEL: func.func @comparisons
// CHECK-COUNT-5: tfm.attention {{.*}} mask
func.func @comparisons(%q: !q, %k: !q) -> (!q, !q, !q, !q, !q) {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %S = tensor.dim %q, %two : !q
  %T = tensor.dim %k, %two : !q
  // expected-remark @+1 {{stays a mask}}
  %strict = tensor.generate %S, %T {
  ^bb0(%b: index, %h: index, %s: index, %t: index):
    %keep = arith.cmpi slt, %t, %s : index
    tensor.yield %keep : i1
  } : !m
  // expected-remark @+1 {{stays a mask}}
  %offset = tensor.generate %S, %T {
  ^bb0(%b: index, %h: index, %s: index, %t: index):
    %older = arith.subi %T, %S : index
    %last = arith.addi %s, %older : index
    %keep = arith.cmpi sle, %t, %last : index
    tensor.yield %keep : i1
  } : !m
  // expected-remark @+1 {{stays a mask}}
  %unsigned = tensor.generate %S, %T {
  ^bb0(%b: index, %h: index, %s: index, %t: index):
    %ago = arith.subi %s, %t : index
    %keep = arith.cmpi uge, %ago, %zero : index
    tensor.yield %keep : i1
  } : !m
  // expected-remark @+1 {{stays a mask}}
  %window = tensor.generate %S, %T {
  ^bb0(%b: index, %h: index, %s: index, %t: index):
    %past = arith.cmpi sle, %t, %s : index
    %ago = arith.subi %s, %t : index
    %near = arith.cmpi slt, %ago, %two : index
    %keep = arith.andi %past, %near : i1
    tensor.yield %keep : i1
  } : !m
  // expected-remark @+1 {{stays a mask}}
  %heads = tensor.generate %S, %T {
  ^bb0(%b: index, %h: index, %s: index, %t: index):
    %keep = arith.cmpi sle, %h, %s : index
    tensor.yield %keep : i1
  } : !m
  %s0 = tfm.scores %q, %k : (!q, !q) -> !s
  %m0 = tfm.apply_mask %s0, %strict : !s, !m
  %p0 = tfm.softmax %m0 : !s
  %o0 = tfm.mix %p0, %k : (!s, !q) -> !q
  %s1 = tfm.scores %q, %k : (!q, !q) -> !s
  %m1 = tfm.apply_mask %s1, %offset : !s, !m
  %p1 = tfm.softmax %m1 : !s
  %o1 = tfm.mix %p1, %k : (!s, !q) -> !q
  %s2 = tfm.scores %q, %k : (!q, !q) -> !s
  %m2 = tfm.apply_mask %s2, %unsigned : !s, !m
  %p2 = tfm.softmax %m2 : !s
  %o2 = tfm.mix %p2, %k : (!s, !q) -> !q
  %s3 = tfm.scores %q, %k : (!q, !q) -> !s
  %m3 = tfm.apply_mask %s3, %window : !s, !m
  %p3 = tfm.softmax %m3 : !s
  %o3 = tfm.mix %p3, %k : (!s, !q) -> !q
  %s4 = tfm.scores %q, %k : (!q, !q) -> !s
  %m4 = tfm.apply_mask %s4, %heads : !s, !m
  %p4 = tfm.softmax %m4 : !s
  %o4 = tfm.mix %p4, %k : (!s, !q) -> !q
  return %o0, %o1, %o2, %o3, %o4 : !q, !q, !q, !q, !q
}
