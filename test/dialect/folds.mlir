// RUN: tfm-opt %s -canonicalize | FileCheck %s
// What the operations say of themselves when nothing else is known.

// CHECK-LABEL: @split_of_merge
// CHECK-NEXT: return %arg0
func.func @split_of_merge(%x: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %0 = tfm.merge_heads %x : (tensor<?x4x?x8xf32>) -> tensor<?x?x32xf32>
  %1 = tfm.split_heads %0 into 4 : (tensor<?x?x32xf32>) -> tensor<?x4x?x8xf32>
  return %1 : tensor<?x4x?x8xf32>
}

// CHECK-LABEL: @split_into_others
// CHECK: tfm.merge_heads
// CHECK: tfm.split_heads
func.func @split_into_others(%x: tensor<?x4x?x8xf32>) -> tensor<?x2x?x16xf32> {
  %0 = tfm.merge_heads %x : (tensor<?x4x?x8xf32>) -> tensor<?x?x32xf32>
  %1 = tfm.split_heads %0 into 2 : (tensor<?x?x32xf32>) -> tensor<?x2x?x16xf32>
  return %1 : tensor<?x2x?x16xf32>
}

// CHECK-LABEL: @merge_of_split
// CHECK-NEXT: return %arg0
func.func @merge_of_split(%x: tensor<?x?x32xf32>) -> tensor<?x?x32xf32> {
  %0 = tfm.split_heads %x into 4 : (tensor<?x?x32xf32>) -> tensor<?x4x?x8xf32>
  %1 = tfm.merge_heads %0 : (tensor<?x4x?x8xf32>) -> tensor<?x?x32xf32>
  return %1 : tensor<?x?x32xf32>
}

// CHECK-LABEL: @scale_by_one
// CHECK-NEXT: return %arg0
func.func @scale_by_one(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tfm.scale %x by 1.0 : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// CHECK-LABEL: @scale_by_minus_one
// CHECK-NEXT: tfm.scale
func.func @scale_by_minus_one(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tfm.scale %x by -1.0 : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// CHECK-LABEL: @unused
// CHECK-NEXT: return
func.func @unused(%x: tensor<?x8xf32>) {
  %0 = tfm.activation silu %x : tensor<?x8xf32>
  return
}
