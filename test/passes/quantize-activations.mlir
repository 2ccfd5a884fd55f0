// RUN: tfm-opt %s --tfm-quantize-activations | FileCheck %s
// RUN: tfm-opt %s --tfm-quantize-activations --tfm-quantize-activations | FileCheck %s
// Maps over blocks become integer products, and share what they quantize.

// CHECK-LABEL: func.func @maps
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x?x64xf32>, %[[A:[a-z0-9]+]]: {{.*}}, %[[B:[a-z0-9]+]]: {{.*}}, %[[C:[a-z0-9]+]]: tensor<16x64xf16>
// CHECK: %[[Q:.*]], %[[D:.*]], %[[S:.*]] = tfm.quantize %[[X]] : (tensor<?x?x64xf32>) -> (tensor<?x?x64xi8>, tensor<?x?x2xf32>, tensor<?x?x2xf32>)
// CHECK-NEXT: tfm.quantized_linear %[[Q]], %[[D]], %[[S]], %[[A]]
// CHECK-NEXT: tfm.quantized_linear %[[Q]], %[[D]], %[[S]], %[[B]]
// CHECK-NEXT: tfm.linear %[[X]], %[[C]]
func.func @maps(%x: tensor<?x?x64xf32>, %a: tensor<32x64x!tfm.block<q4_1>>, %b: tensor<16x64x!tfm.block<q8_0>>, %c: tensor<16x64xf16>) -> (tensor<?x?x32xf32>, tensor<?x?x16xf32>, tensor<?x?x16xf32>) {
  %0 = tfm.linear %x, %a : (tensor<?x?x64xf32>, tensor<32x64x!tfm.block<q4_1>>) -> tensor<?x?x32xf32>
  %1 = tfm.linear %x, %b : (tensor<?x?x64xf32>, tensor<16x64x!tfm.block<q8_0>>) -> tensor<?x?x16xf32>
  %2 = tfm.linear %x, %c : (tensor<?x?x64xf32>, tensor<16x64xf16>) -> tensor<?x?x16xf32>
  return %0, %1, %2 : tensor<?x?x32xf32>, tensor<?x?x16xf32>, tensor<?x?x16xf32>
}

// A network over blocks is expanded: its middle is quantized as well.
// CHECK-LABEL: func.func @network
// CHECK-NOT: tfm.ffn
// CHECK: %[[Q:.*]], %{{.*}}, %{{.*}} = tfm.quantize %arg0
// CHECK: tfm.quantized_linear %[[Q]]
// CHECK: tfm.activation relu
// CHECK: %[[M:.*]], %{{.*}}, %{{.*}} = tfm.quantize
// CHECK: tfm.quantized_linear %[[M]]
func.func @network(%x: tensor<?x32xf32>, %w: tensor<32x32x!tfm.block<q4_0>>) -> tensor<?x32xf32> {
  %y = tfm.ffn relu %x up %w down %w : (tensor<?x32xf32>, tensor<32x32x!tfm.block<q4_0>>, tensor<32x32x!tfm.block<q4_0>>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// CHECK-LABEL: func.func @bias
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<8xf32>)
// CHECK: %[[P:.*]] = tfm.quantized_linear
// CHECK-NEXT: tfm.add_vector %[[P]], %[[B]]
func.func @bias(%x: tensor<?x32xf32>, %w: tensor<8x32x!tfm.block<q4_0>>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %y = tfm.linear %x, %w, %b : (tensor<?x32xf32>, tensor<8x32x!tfm.block<q4_0>>, tensor<8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
