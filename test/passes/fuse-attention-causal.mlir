// RUN: tfm-opt %s -tfm-fuse-attention | FileCheck %s --implicit-check-not=mask --implicit-check-not=tensor.generate
// RUN: tfm-opt %s -tfm-fuse-attention | tfm-opt -tfm-fuse-attention | FileCheck %s --implicit-check-not=mask
// A mask is causal if it says t <= s over the S and T of the scores, which
// follow from the same lengths.

!x = tensor<?x?x8xf32>
!h = tensor<?x2x?x4xf32>
!s = tensor<?x2x?x?xf32>
!m = tensor<1x1x?x?xi1>

// One mask for two layers; its lengths are those of the input of both.
// CHECK-LABEL: func.func @layers
// CHECK-COUNT-2: tfm.attention {{.*}} causal {
func.func @layers(%x: !x) -> !x {
  %one = arith.constant 1 : index
  %n = tensor.dim %x, %one : !x
  %m = tfm.causal_mask %n by %n : !m
  %h = tfm.split_heads %x into 2 : (!x) -> !h
  %0 = tfm.scores %h, %h : (!h, !h) -> !s
  %1 = tfm.apply_mask %0, %m : !s, !m
  %2 = tfm.softmax %1 : !s
  %3 = tfm.mix %2, %h : (!s, !h) -> !h
  %y = tfm.merge_heads %3 : (!h) -> !x
  %z = tfm.add %y, %x : !x
  %k = tfm.split_heads %z into 2 : (!x) -> !h
  %4 = tfm.scores %k, %k : (!h, !h) -> !s
  %5 = tfm.apply_mask %4, %m : !s, !m
  %6 = tfm.scale %5 by 0.5 : !s
  %7 = tfm.softmax %6 : !s
  %8 = tfm.mix %7, %k : (!s, !h) -> !h
  %9 = tfm.merge_heads %8 : (!h) -> !x
  return %9 : !x
}

// t < s + 1, in two chains of lengths that are equal: s >= t + (S - T).
// CHECK-LABEL: func.func @comparisons
// CHECK: tfm.attention {{.*}} causal {
// CHECK: tfm.attention {{.*}} causal {
func.func @comparisons(%x: !x) -> (!h, !h) {
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %h = tfm.split_heads %x into 2 : (!x) -> !h
  %S = tensor.dim %h, %two : !h
  %T = tensor.dim %x, %one : !x
  %m = tensor.generate %S, %T {
  ^bb0(%b: index, %g: index, %s: index, %t: index):
    %end = arith.addi %s, %one : index
    %keep = arith.cmpi slt, %t, %end : index
    tensor.yield %keep : i1
  } : !m
  %n = tensor.generate %S, %T {
  ^bb0(%b: index, %g: index, %s: index, %t: index):
    %offset = arith.subi %S, %T : index
    %last = arith.addi %t, %offset : index
    %keep = arith.cmpi sge, %s, %last : index
    tensor.yield %keep : i1
  } : !m
  %0 = tfm.scores %h, %h : (!h, !h) -> !s
  %1 = tfm.apply_mask %0, %m : !s, !m
  %2 = tfm.softmax %1 : !s
  %3 = tfm.mix %2, %h : (!s, !h) -> !h
  %4 = tfm.scores %h, %h : (!h, !h) -> !s
  %5 = tfm.apply_mask %4, %n : !s, !m
  %6 = tfm.softmax %5 : !s
  %7 = tfm.mix %6, %h : (!s, !h) -> !h
  return %3, %7 : !h, !h
}
