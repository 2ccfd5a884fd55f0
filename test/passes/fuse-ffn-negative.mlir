// RUN: tfm-opt %s -tfm-fuse-ffn -verify-diagnostics | FileCheck %s --implicit-check-not=tfm.ffn
// Near misses stay as they are, with a remark that says why.

!x = tensor<?x?x8xf32>
!h = tensor<?x?x20xf32>
!up = tensor<20x8xf32>
!down = tensor<8x20xf32>

// CHECK-LABEL: func.func @inner_used
// CHECK: tfm.activation
func.func @inner_used(%x: !x, %u: !up, %d: !down) -> (!x, !h) {
  %0 = tfm.linear %x, %u : (!x, !up) -> !h
  %1 = tfm.activation silu %0 : !h
  // expected-remark @+1 {{feed-forward network left unfused: expects a linear map for the activation alone}}
  %2 = tfm.linear %1, %d : (!h, !down) -> !x
  return %2, %0 : !x, !h
}

// CHECK-LABEL: func.func @two_inputs
// CHECK: tfm.mul
func.func @two_inputs(%x: !x, %y: !x, %g: !up, %u: !up, %d: !down) -> !x {
  %0 = tfm.linear %x, %g : (!x, !up) -> !h
  %1 = tfm.activation silu %0 : !h
  %2 = tfm.linear %y, %u : (!x, !up) -> !h
  %3 = tfm.mul %1, %2 : !h
  // expected-remark @+1 {{feed-forward network left unfused: expects gate and up to be maps of one input, for the gate alone}}
  %4 = tfm.linear %3, %d : (!h, !down) -> !x
  return %4 : !x
}

// CHECK-LABEL: func.func @activation_used
// CHECK: tfm.activation
func.func @activation_used(%x: !x, %u: !up, %d: !down) -> (!x, !h) {
  %0 = tfm.linear %x, %u : (!x, !up) -> !h
  %1 = tfm.activation silu %0 : !h
  // expected-remark @+1 {{feed-forward network left unfused: the activation or the gate has other uses}}
  %2 = tfm.linear %1, %d : (!h, !down) -> !x
  return %2, %1 : !x, !h
}

// CHECK-LABEL: func.func @no_activation
// CHECK: tfm.linear
// CHECK: tfm.linear
func.func @no_activation(%x: !x, %u: !up, %d: !down) -> !x {
  %0 = tfm.linear %x, %u : (!x, !up) -> !h
  %1 = tfm.linear %0, %d : (!h, !down) -> !x
  return %1 : !x
}
