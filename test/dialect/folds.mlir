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

// CHECK-LABEL: @repeat_once
// CHECK-NEXT: return %arg0
func.func @repeat_once(%x: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %0 = tfm.repeat_heads %x by 1 : (tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32>
  return %0 : tensor<?x4x?x8xf32>
}

// CHECK-LABEL: @transpose_twice
// CHECK-NEXT: return %arg0
func.func @transpose_twice(%x: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %0 = tfm.transpose %x : (tensor<?x4x?x8xf32>) -> tensor<?x4x8x?xf32>
  %1 = tfm.transpose %0 : (tensor<?x4x8x?xf32>) -> tensor<?x4x?x8xf32>
  return %1 : tensor<?x4x?x8xf32>
}

// A product of rows with rows is scores, with columns a mix; the heads that are
// repeated are read where they are.
// CHECK-LABEL: @products
// CHECK-NEXT: %[[S:.*]] = tfm.scores %arg0, %arg1
// CHECK-NEXT: %[[O:.*]] = tfm.mix %[[S]], %arg1
// CHECK-NEXT: return %[[O]]
func.func @products(%x: tensor<?x4x?x8xf32>, %y: tensor<?x2x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = tfm.repeat_heads %y by 2 : (tensor<?x2x?x8xf32>) -> tensor<?x4x?x8xf32>
  %t = tfm.transpose %r : (tensor<?x4x?x8xf32>) -> tensor<?x4x8x?xf32>
  %0 = tfm.matmul %x, %t : (tensor<?x4x?x8xf32>, tensor<?x4x8x?xf32>) -> tensor<?x4x?x?xf32>
  %1 = tfm.matmul %0, %r : (tensor<?x4x?x?xf32>, tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32>
  return %1 : tensor<?x4x?x8xf32>
}

// A scale goes before the transposition, even if that has other uses; so does
// that of a matrix in a product.
// CHECK-LABEL: @scale_of_transpose
// CHECK-NEXT: %[[T:.*]] = tfm.transpose %arg0
// CHECK-NEXT: %[[S:.*]] = tfm.scale %arg0 by 2
// CHECK-NEXT: %[[O:.*]] = tfm.scores %arg0, %[[S]]
// CHECK-NEXT: return %[[T]], %[[O]]
func.func @scale_of_transpose(%x: tensor<?x4x?x8xf32>) -> (tensor<?x4x8x?xf32>, tensor<?x4x?x?xf32>) {
  %0 = tfm.transpose %x : (tensor<?x4x?x8xf32>) -> tensor<?x4x8x?xf32>
  %1 = tfm.scale %0 by 2.0 : tensor<?x4x8x?xf32>
  %2 = tfm.matmul %x, %1 : (tensor<?x4x?x8xf32>, tensor<?x4x8x?xf32>) -> tensor<?x4x?x?xf32>
  return %0, %2 : tensor<?x4x8x?xf32>, tensor<?x4x?x?xf32>
}

// CHECK-LABEL: @dropout
// CHECK-NEXT: return %arg0
func.func @dropout(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tfm.dropout %x at 0.1 : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// CHECK-LABEL: @not_not
// CHECK-NEXT: return %arg0
func.func @not_not(%m: tensor<?x1x1x?xi1>) -> tensor<?x1x1x?xi1> {
  %0 = tfm.mask_not %m : tensor<?x1x1x?xi1>
  %1 = tfm.mask_not %0 : tensor<?x1x1x?xi1>
  return %1 : tensor<?x1x1x?xi1>
}

// CHECK-LABEL: @and_itself
// CHECK-NEXT: return %arg0
func.func @and_itself(%m: tensor<?x1x1x?xi1>) -> tensor<?x1x1x?xi1> {
  %0 = tfm.mask_and %m, %m : (tensor<?x1x1x?xi1>, tensor<?x1x1x?xi1>) -> tensor<?x1x1x?xi1>
  return %0 : tensor<?x1x1x?xi1>
}

// CHECK-LABEL: @and_another
// CHECK-NEXT: %[[N:.*]] = tfm.mask_not %arg0
// CHECK-NEXT: tfm.mask_and %arg0, %[[N]]
func.func @and_another(%m: tensor<?x1x1x?xi1>) -> tensor<?x1x1x?xi1> {
  %0 = tfm.mask_not %m : tensor<?x1x1x?xi1>
  %1 = tfm.mask_and %m, %0 : (tensor<?x1x1x?xi1>, tensor<?x1x1x?xi1>) -> tensor<?x1x1x?xi1>
  return %1 : tensor<?x1x1x?xi1>
}

// CHECK-LABEL: @unused
// CHECK-NEXT: return
func.func @unused(%x: tensor<?x8xf32>) {
  %0 = tfm.activation silu %x : tensor<?x8xf32>
  return
}
