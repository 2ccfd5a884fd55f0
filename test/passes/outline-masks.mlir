// RUN: tfm-opt %s --tfm-to-kernels -o %t.kernels
// RUN: FileCheck %s < %t.kernels
// RUN: tfm-run %s encode q='{"shape": [2, 4, 3, 8], "random": 1}' n='[3, 1]' > %t.expected
// RUN: tfm-run %t.kernels encode q='{"shape": [2, 4, 3, 8], "random": 1}' n='[3, 1]' | diff %t.expected -
// Masks are computed where they are read, from lengths that are inputs of the
// kernels; one that is a result has a kernel of its own.

!q = tensor<?x4x?x8xf32>
!s = tensor<?x4x?x?xf32>
!m = tensor<1x1x?x?xi1>
!p = tensor<?x1x1x?xi1>
!b = tensor<?x1x?x?xi1>

// CHECK-LABEL: func.func @encode
// CHECK-SAME: (%[[Q:.*]]: tensor<?x4x?x8xf32> {{.*}}, %[[N:.*]]: tensor<?xi32>
// CHECK-DAG: %[[S:.*]] = tensor.dim %[[Q]], %c2
// CHECK-DAG: %[[B:.*]] = tensor.dim %[[N]], %c0
// CHECK: tensor.empty(%[[B]], %[[S]], %[[S]]) : tensor<?x1x?x?xi1>
// CHECK: tfm.launch @relayout(%[[N]], %[[S]]
// CHECK: tfm.launch @attention(%[[N]], %[[S]], %[[Q]])
// CHECK: tfm.kernel @attention
// CHECK-NEXT: tfm.padding_mask
// CHECK-NEXT: tfm.window_mask
// CHECK-NEXT: tfm.mask_not
// CHECK-NEXT: tfm.mask_and
// CHECK-NEXT: tfm.attention
func.func @encode(%q: !q {tfm.name = "q"}, %n: tensor<?xi32> {tfm.name = "n"}) -> (!q, !b) {
  %c2 = arith.constant 2 : index
  %t = tensor.dim %q, %c2 : !q
  %p = tfm.padding_mask %n by %t : (tensor<?xi32>, index) -> !p
  %w = tfm.window_mask %t by %t of 2 causal : !m
  %v = tfm.mask_not %w : !m
  %b = tfm.mask_and %v, %p : (!m, !p) -> !b
  %0 = tfm.attention %q, %q, %q mask %b {scale = 0.5 : f32} : (!q, !q, !q, !b) -> !q
  return %0, %b : !q, !b
}
