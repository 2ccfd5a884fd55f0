// RUN: tfm-opt %s -tfm-fuse-attention | FileCheck %s --implicit-check-not=tfm.softmax --implicit-check-not=tfm.window_mask --implicit-check-not=tfm.dropout
// RUN: tfm-opt %s -tfm-fuse-attention | tfm-opt -tfm-fuse-attention | FileCheck %s --implicit-check-not=tfm.softmax
// What is causal or a window is taken out of the masks, the rest is one mask.

!x = tensor<?x?x8xf32>
!h = tensor<?x2x?x4xf32>
!s = tensor<?x2x?x?xf32>
!m = tensor<1x1x?x?xi1>
!p = tensor<?x1x1x?xi1>

// CHECK-LABEL: func.func @causal_window
// CHECK: tfm.attention %[[H:.*]], %[[H]], %[[H]] causal window 4 {scale = 1.000000e+00 : f32}
func.func @causal_window(%x: !x) -> !h {
  %one = arith.constant 1 : index
  %n = tensor.dim %x, %one : !x
  %m = tfm.window_mask %n by %n of 4 causal : !m
  %h = tfm.split_heads %x into 2 : (!x) -> !h
  %0 = tfm.scores %h, %h : (!h, !h) -> !s
  %1 = tfm.apply_mask %0, %m : !s, !m
  %2 = tfm.softmax %1 : !s
  %3 = tfm.mix %2, %h : (!s, !h) -> !h
  return %3 : !h
}

// The narrower of two windows; the padding is what is left of the conjunction.
// CHECK-LABEL: func.func @conjunction
// CHECK: %[[P:.*]] = tfm.padding_mask
// CHECK-NOT: tfm.mask_and
// CHECK: tfm.attention {{.*}} mask %[[P]] causal window 8 {
func.func @conjunction(%x: !x, %lengths: tensor<?xi32>) -> !h {
  %one = arith.constant 1 : index
  %n = tensor.dim %x, %one : !x
  %c = tfm.causal_mask %n by %n : !m
  %w = tfm.window_mask %n by %n of 8 : !m
  %v = tfm.window_mask %n by %n of 16 : !m
  %p = tfm.padding_mask %lengths by %n : (tensor<?xi32>, index) -> !p
  %a = tfm.mask_and %c, %p : (!m, !p) -> tensor<?x1x?x?xi1>
  %b = tfm.mask_and %w, %a : (!m, tensor<?x1x?x?xi1>) -> tensor<?x1x?x?xi1>
  %h = tfm.split_heads %x into 2 : (!x) -> !h
  %0 = tfm.scores %h, %h : (!h, !h) -> !s
  %1 = tfm.apply_mask %0, %b : !s, tensor<?x1x?x?xi1>
  %2 = tfm.apply_mask %1, %v : !s, !m
  %3 = tfm.softmax %2 : !s
  %4 = tfm.mix %3, %h : (!s, !h) -> !h
  return %4 : !h
}

// Of a conjunction that holds neither nothing is taken, and two masks become
// one.
// CHECK-LABEL: func.func @others
// CHECK-SAME: %[[P:[^:]*]]: tensor<?x1x1x?xi1>, %[[M:[^:]*]]: tensor<1x1x?x?xi1>)
// CHECK: %[[N:.*]] = tfm.mask_not %[[P]]
// CHECK: %[[A:.*]] = tfm.mask_and %[[N]], %[[M]]
// CHECK: tfm.attention {{.*}} mask %[[A]] {
// CHECK: %[[B:.*]] = tfm.mask_and %[[N]], %[[M]]
// CHECK: tfm.attention {{.*}} mask %[[B]] {
func.func @others(%h: !h, %p: !p, %m: !m) -> (!h, !h) {
  %n = tfm.mask_not %p : !p
  %a = tfm.mask_and %n, %m : (!p, !m) -> tensor<?x1x?x?xi1>
  %0 = tfm.scores %h, %h : (!h, !h) -> !s
  %1 = tfm.apply_mask %0, %a : !s, tensor<?x1x?x?xi1>
  %2 = tfm.softmax %1 : !s
  %3 = tfm.mix %2, %h : (!s, !h) -> !h
  %4 = tfm.scores %h, %h : (!h, !h) -> !s
  %5 = tfm.apply_mask %4, %m : !s, !m
  %6 = tfm.apply_mask %5, %n : !s, !p
  %7 = tfm.softmax %6 : !s
  %8 = tfm.mix %7, %h : (!s, !h) -> !h
  return %3, %8 : !h, !h
}

// CHECK-LABEL: func.func @dropout
// CHECK-NEXT: tfm.attention %arg0, %arg0, %arg0 {scale = 5.000000e-01 : f32}
func.func @dropout(%h: !h) -> !h {
  %0 = tfm.scores %h, %h : (!h, !h) -> !s
  %1 = tfm.dropout %0 at 0.2 : !s
  %2 = tfm.scale %1 by 0.5 : !s
  %3 = tfm.softmax %2 : !s
  %4 = tfm.dropout %3 at 0.1 : !s
  %5 = tfm.mix %4, %h : (!s, !h) -> !h
  return %5 : !h
}
