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

// The causal half of the conjunction is of other lengths, the window is not.
// CHECK-LABEL: func.func @windows
// CHECK: %[[W:.*]] = tfm.window_mask
// CHECK: tfm.attention %arg0, %arg0, %arg0 mask %[[W]] {
// CHECK: %[[C:.*]] = tfm.causal{{_}}mask
// CHECK: tfm.attention %arg0, %arg0, %arg0 mask %[[C]] window 3 {
func.func @windows(%q: !q, %n: index) -> (!q, !q) {
  // expected-remark @+1 {{stays a mask: it is not provably a window over the lengths S and T of the scores}}
  %w = tfm.window_mask %n by %n of 4 : !m
  %0 = tfm.scores %q, %q : (!q, !q) -> !s
  %1 = tfm.apply_mask %0, %w : !s, !m
  %2 = tfm.softmax %1 : !s
  %3 = tfm.mix %2, %q : (!s, !q) -> !q
  %two = arith.constant 2 : index
  %S = tensor.dim %q, %two : !q
  // expected-remark @+1 {{stays a mask: it is not provably t <= s}}
  %c = tfm.causal_mask %n by %n : !m
  %v = tfm.window_mask %S by %S of 3 : !m
  %b = tfm.mask_and %c, %v : (!m, !m) -> !m
  %4 = tfm.scores %q, %q : (!q, !q) -> !s
  %5 = tfm.apply_mask %4, %b : !s, !m
  %6 = tfm.softmax %5 : !s
  %7 = tfm.mix %6, %q : (!s, !q) -> !q
  return %3, %7 : !q, !q
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

// Sums of sums take no time.
// CHECK-LABEL: func.func @doubled
// CHECK: tfm.attention %arg0, %arg0, %arg0 mask
func.func @doubled(%q: !q) -> !q {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !q
  // expected-remark @+1 {{stays a mask}}
  %m = tensor.generate %n, %n {
  ^bb0(%b: index, %h: index, %s: index, %t: index):
    %a1 = arith.addi %s, %s : index
    %a2 = arith.addi %a1, %a1 : index
    %a3 = arith.addi %a2, %a2 : index
    %a4 = arith.addi %a3, %a3 : index
    %a5 = arith.addi %a4, %a4 : index
    %a6 = arith.addi %a5, %a5 : index
    %a7 = arith.addi %a6, %a6 : index
    %a8 = arith.addi %a7, %a7 : index
    %a9 = arith.addi %a8, %a8 : index
    %a10 = arith.addi %a9, %a9 : index
    %a11 = arith.addi %a10, %a10 : index
    %a12 = arith.addi %a11, %a11 : index
    %a13 = arith.addi %a12, %a12 : index
    %a14 = arith.addi %a13, %a13 : index
    %a15 = arith.addi %a14, %a14 : index
    %a16 = arith.addi %a15, %a15 : index
    %a17 = arith.addi %a16, %a16 : index
    %a18 = arith.addi %a17, %a17 : index
    %a19 = arith.addi %a18, %a18 : index
    %a20 = arith.addi %a19, %a19 : index
    %a21 = arith.addi %a20, %a20 : index
    %a22 = arith.addi %a21, %a21 : index
    %a23 = arith.addi %a22, %a22 : index
    %a24 = arith.addi %a23, %a23 : index
    %a25 = arith.addi %a24, %a24 : index
    %a26 = arith.addi %a25, %a25 : index
    %a27 = arith.addi %a26, %a26 : index
    %a28 = arith.addi %a27, %a27 : index
    %a29 = arith.addi %a28, %a28 : index
    %a30 = arith.addi %a29, %a29 : index
    %a31 = arith.addi %a30, %a30 : index
    %a32 = arith.addi %a31, %a31 : index
    %a33 = arith.addi %a32, %a32 : index
    %a34 = arith.addi %a33, %a33 : index
    %a35 = arith.addi %a34, %a34 : index
    %a36 = arith.addi %a35, %a35 : index
    %a37 = arith.addi %a36, %a36 : index
    %a38 = arith.addi %a37, %a37 : index
    %a39 = arith.addi %a38, %a38 : index
    %a40 = arith.addi %a39, %a39 : index
    %keep = arith.cmpi sle, %t, %a40 : index
    tensor.yield %keep : i1
  } : !m
  %0 = tfm.scores %q, %q : (!q, !q) -> !s
  %1 = tfm.apply_mask %0, %m : !s, !m
  %2 = tfm.softmax %1 : !s
  %3 = tfm.mix %2, %q : (!s, !q) -> !q
  return %3 : !q
}
