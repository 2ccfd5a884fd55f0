// RUN: tfm-opt %s --tfm-to-kernels -o %t.kernels
// RUN: FileCheck %s < %t.kernels
// RUN: tfm-run %s encode q='{"shape": [2, 4, 3, 8], "random": 1}' k='{"shape": [2, 2, 5, 8], "random": 2}' m='[[[[1, 1, 0, 1, 0]]], [[[0, 0, 0, 0, 0]]]]' b='{"shape": [1, 4, 3, 5], "random": 3}' > %t.expected
// RUN: tfm-run %t.kernels encode q='{"shape": [2, 4, 3, 8], "random": 1}' k='{"shape": [2, 2, 5, 8], "random": 2}' m='[[[[1, 1, 0, 1, 0]]], [[[0, 0, 0, 0, 0]]]]' b='{"shape": [1, 4, 3, 5], "random": 3}' | diff %t.expected -
// Masks and biases are inputs of the kernels that read them; repeated heads are
// computed where they are read.

!q = tensor<?x4x?x8xf32>
!k = tensor<?x2x?x8xf32>
!s = tensor<?x4x?x?xf32>
!m = tensor<?x1x1x?xi1>
!b = tensor<1x4x?x?xf32>

// CHECK-LABEL: func.func @encode
// CHECK-SAME: (%[[Q:.*]]: tensor<?x4x?x8xf32> {{.*}}, %[[K:.*]]: tensor<?x2x?x8xf32> {{.*}}, %[[M:.*]]: tensor<?x1x1x?xi1> {{.*}}, %[[B:.*]]: tensor<1x4x?x?xf32>
// CHECK: %[[S:.*]] = tensor.dim %[[Q]], %c2
// CHECK: tfm.launch @attention(%[[Q]], %[[K]], %[[M]], %[[B]])
// CHECK: %[[T:.*]] = tensor.dim %[[K]], %c2
// CHECK: tensor.empty(%{{.*}}, %[[S]], %[[T]]) : tensor<?x4x?x?xf32>
// CHECK: tfm.launch @scores_add_bias_apply_mask(%[[Q]], %[[K]], %[[B]], %[[M]])
// CHECK: tfm.launch @mix(%{{.*}}, %[[K]])
// CHECK: tfm.launch @transpose(%[[K]])
// CHECK: %[[V:.*]] = tfm.launch @transpose{{.*}}(
// CHECK: tfm.launch @attention_{{[0-9]+}}(

// CHECK: tfm.kernel @attention_
// CHECK: %[[R:.*]] = tfm.repeat_heads
// CHECK: tfm.attention {{.*}}, %[[R]], %[[R]] {
func.func @encode(%q: !q {tfm.name = "q"}, %k: !k {tfm.name = "k"}, %m: !m {tfm.name = "m"}, %b: !b {tfm.name = "b"}) -> (!q, !q, !q) {
  %0 = tfm.attention %q, %k, %k mask %m bias %b {scale = 0.5 : f32} : (!q, !k, !k, !m, !b) -> !q
  %1 = tfm.scores %q, %k : (!q, !k) -> !s
  %2 = tfm.add_bias %1, %b : !s, !b
  %3 = tfm.apply_mask %2, %m : !s, !m
  %4 = tfm.mix %3, %k : (!s, !k) -> !q
  %5 = tfm.transpose %k : (!k) -> tensor<?x2x8x?xf32>
  %6 = tfm.add %5, %5 : tensor<?x2x8x?xf32>
  %7 = tfm.transpose %6 : (tensor<?x2x8x?xf32>) -> !k
  %8 = tfm.repeat_heads %7 by 2 : (!k) -> !q
  %9 = tfm.attention %q, %8, %8 {scale = 0.5 : f32} : (!q, !q, !q) -> !q
  return %0, %4, %9 : !q, !q, !q
}
