// RUN: tfm-opt %s -tfm-fuse-ffn | FileCheck %s
// RUN: tfm-opt %s -tfm-fuse-ffn | tfm-opt -tfm-fuse-ffn | FileCheck %s
// Feed-forward networks become one operation, gated or not; the gate may stand
// on either side of the product.

!x = tensor<?x?x8xf32>
!h = tensor<?x?x20xf32>
!up = tensor<20x8xf32>
!down = tensor<8x20xf32>

// CHECK-LABEL: func.func @plain
// CHECK-SAME: (%[[X:.*]]: {{.*}}, %[[U:.*]]: {{.*}}, %[[D:.*]]: tensor<8x20xf32>)
// CHECK-NEXT: %[[Y:.*]] = tfm.ffn gelu_tanh %[[X]]{{.*}}%[[U]]{{.*}}%[[D]]
// CHECK-NEXT: return %[[Y]]
func.func @plain(%x: !x, %u: !up, %d: !down) -> !x {
  %0 = tfm.linear %x, %u : (!x, !up) -> !h
  %1 = tfm.activation gelu_tanh %0 : !h
  %2 = tfm.linear %1, %d : (!h, !down) -> !x
  return %2 : !x
}

// CHECK-LABEL: func.func @biases
// CHECK-SAME: (%[[X:.*]]: {{.*}}, %[[G:.*]]: {{.*}}, %[[U:.*]]: {{.*}}, %[[D:.*]]: tensor<8x20xf32>, %[[A:.*]]: tensor<20xf32>, %[[B:.*]]: tensor<8xf32>, %[[C:.*]]: tensor<20xf32>)
// CHECK-NEXT: %[[P:.*]] = tfm.ffn gelu %[[X]] up %[[U]] bias %[[A]] down %[[D]] bias %[[B]] :
// CHECK-NEXT: %[[Q:.*]] = tfm.ffn silu %[[X]] up %[[U]] bias %[[A]] down %[[D]] gate %[[G]] gate_bias %[[C]] :
// CHECK-NEXT: return %[[P]], %[[Q]]
func.func @biases(%x: !x, %g: !up, %u: !up, %d: !down, %a: tensor<20xf32>, %b: tensor<8xf32>, %c: tensor<20xf32>) -> (!x, !x) {
  %0 = tfm.linear %x, %u, %a : (!x, !up, tensor<20xf32>) -> !h
  %1 = tfm.activation gelu %0 : !h
  %2 = tfm.linear %1, %d, %b : (!h, !down, tensor<8xf32>) -> !x
  %3 = tfm.linear %x, %g, %c : (!x, !up, tensor<20xf32>) -> !h
  %4 = tfm.activation silu %3 : !h
  %5 = tfm.linear %x, %u, %a : (!x, !up, tensor<20xf32>) -> !h
  %6 = tfm.mul %4, %5 : !h
  %7 = tfm.linear %6, %d : (!h, !down) -> !x
  return %2, %7 : !x, !x
}

// CHECK-LABEL: func.func @gated
// CHECK-SAME: (%[[X:.*]]: {{.*}}, %[[G:.*]]: {{.*}}, %[[U:.*]]: {{.*}}, %[[D:.*]]: tensor<8x20xf32>)
// CHECK-NEXT: tfm.ffn silu %[[X]]{{.*}}%[[U]]{{.*}}%[[D]]{{.*}}%[[G]]
// CHECK-NEXT: return
func.func @gated(%x: !x, %g: !up, %u: !up, %d: !down) -> !x {
  %0 = tfm.linear %x, %g : (!x, !up) -> !h
  %1 = tfm.activation silu %0 : !h
  %2 = tfm.linear %x, %u : (!x, !up) -> !h
  %3 = tfm.mul %1, %2 : !h
  %4 = tfm.linear %3, %d : (!h, !down) -> !x
  return %4 : !x
}

// CHECK-LABEL: func.func @gated_right
// CHECK-SAME: (%[[X:.*]]: {{.*}}, %[[G:.*]]: {{.*}}, %[[U:.*]]: {{.*}}, %[[D:.*]]: tensor<8x20xf32>)
// CHECK-NEXT: tfm.ffn silu %[[X]]{{.*}}%[[U]]{{.*}}%[[D]]{{.*}}%[[G]]
// CHECK-NEXT: return
func.func @gated_right(%x: !x, %g: !up, %u: !up, %d: !down) -> !x {
  %0 = tfm.linear %x, %u : (!x, !up) -> !h
  %1 = tfm.linear %x, %g : (!x, !up) -> !h
  %2 = tfm.activation silu %1 : !h
  %3 = tfm.mul %0, %2 : !h
  %4 = tfm.linear %3, %d : (!h, !down) -> !x
  return %4 : !x
}
