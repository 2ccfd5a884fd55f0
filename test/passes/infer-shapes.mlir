// RUN: tfm-opt %s -tfm-infer-shapes | FileCheck %s
// RUN: tfm-opt %s -tfm-infer-shapes | tfm-opt -tfm-infer-shapes | FileCheck %s
// Known dimensions flow from the operands down to the function's result; what
// nothing determines stays open, and what is known stays known.

// CHECK-LABEL: func.func @chain
// CHECK-SAME: -> tensor<2x5x12xf32>
func.func @chain(%x: tensor<2x5x8xf32>, %w: tensor<12x8xf32>) -> tensor<?x?x12xf32> {
  // CHECK: tfm.linear {{.*}} -> tensor<2x5x12xf32>
  %0 = tfm.linear %x, %w : (tensor<2x5x8xf32>, tensor<12x8xf32>) -> tensor<?x?x12xf32>
  // CHECK: tfm.split_heads {{.*}} -> tensor<2x3x5x4xf32>
  %1 = tfm.split_heads %0 into 3 : (tensor<?x?x12xf32>) -> tensor<?x3x?x4xf32>
  // CHECK: tfm.merge_heads {{.*}} -> tensor<2x5x12xf32>
  %2 = tfm.merge_heads %1 : (tensor<?x3x?x4xf32>) -> tensor<?x?x12xf32>
  return %2 : tensor<?x?x12xf32>
}

// The batch is known from the query, the 7 columns from the key.
// CHECK-LABEL: func.func @scores
// CHECK: tfm.scores {{.*}} -> tensor<2x4x?x7xf32>
func.func @scores(%q: tensor<2x4x?x6xf32>, %k: tensor<2x2x7x6xf32>) -> tensor<?x4x?x?xf32> {
  %0 = tfm.scores %q, %k : (tensor<2x4x?x6xf32>, tensor<2x2x7x6xf32>) -> tensor<?x4x?x?xf32>
  return %0 : tensor<?x4x?x?xf32>
}

// CHECK-LABEL: func.func @masks
// CHECK: tfm.padding_mask {{.*}} -> tensor<2x1x1x7xi1>
// CHECK: tfm.window_mask {{.*}} : tensor<1x1x?x7xi1>
// CHECK: tfm.mask_and {{.*}} -> tensor<2x1x?x7xi1>
// CHECK: tfm.mask_not {{.*}} : tensor<2x1x?x7xi1>
func.func @masks(%lengths: tensor<2xi32>, %n: index) -> tensor<?x1x?x?xi1> {
  %seven = arith.constant 7 : index
  %0 = tfm.padding_mask %lengths by %seven : (tensor<2xi32>, index) -> tensor<?x1x1x?xi1>
  %1 = tfm.window_mask %n by %seven of 4 : tensor<1x1x?x?xi1>
  %2 = tfm.mask_and %0, %1 : (tensor<?x1x1x?xi1>, tensor<1x1x?x?xi1>) -> tensor<?x1x?x?xi1>
  %3 = tfm.mask_not %2 : tensor<?x1x?x?xi1>
  return %3 : tensor<?x1x?x?xi1>
}

// CHECK-LABEL: func.func @open
// CHECK-SAME: -> tensor<?x?x12xf32>
// CHECK: tfm.linear {{.*}} -> tensor<?x?x12xf32>
func.func @open(%x: tensor<?x?x8xf32>, %w: tensor<12x8xf32>) -> tensor<?x?x12xf32> {
  %0 = tfm.linear %x, %w : (tensor<?x?x8xf32>, tensor<12x8xf32>) -> tensor<?x?x12xf32>
  return %0 : tensor<?x?x12xf32>
}

// CHECK-LABEL: func.func @more_exact
// CHECK: tfm.linear {{.*}} -> tensor<2x5x12xf32>
func.func @more_exact(%x: tensor<?x?x8xf32>, %w: tensor<12x8xf32>) -> tensor<2x5x12xf32> {
  %0 = tfm.linear %x, %w : (tensor<?x?x8xf32>, tensor<12x8xf32>) -> tensor<2x5x12xf32>
  return %0 : tensor<2x5x12xf32>
}
