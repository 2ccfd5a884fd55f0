// RUN: tfm-opt %s --tfm-pack-weights | FileCheck %s
// Matrices become their parts, placed one after the other: 1·1·4·4·32 = 512
// bytes of quants, 1·1·4·8 scales and mins of 2 bytes, and the vector as it is.

// CHECK-DAG: tfm.weight @w.quants : tensor<1x1x4x4x32xi8> from #tfm.packed<@w, quants> at 64
// CHECK-DAG: tfm.weight @w.scales : tensor<1x1x4x8xf16> from #tfm.packed<@w, scales> at 576
// CHECK-DAG: tfm.weight @w.mins : tensor<1x1x4x8xf16> from #tfm.packed<@w, mins> at 640
// CHECK-DAG: tfm.weight @gain : tensor<3xf32> from #tfm.file<"m", 0> at 0
tfm.weight @gain : tensor<3xf32> from #tfm.file<"m", 0>
tfm.weight @w : tensor<20x32x!tfm.block<q4_1>> from #tfm.file<"m", 128>

// CHECK-LABEL: tfm.kernel @map
// CHECK-SAME: (%[[X:.*]]: tensor<?x32xf32>, %[[Q:.*]]: tensor<1x1x4x4x32xi8>, %[[D:.*]]: tensor<1x1x4x8xf16>, %[[M:.*]]: tensor<1x1x4x8xf16>, %{{.*}}: tensor<3xf32>)
// CHECK: %[[W:.*]] = tfm.unpack %[[Q]], %[[D]], %[[M]]
// CHECK: tfm.linear %[[X]], %[[W]]
tfm.kernel @map(%x: tensor<?x32xf32>, %w: tensor<20x32x!tfm.block<q4_1>>, %gain: tensor<3xf32>) -> tensor<?x20xf32> {
  %y = tfm.linear %x, %w : (tensor<?x32xf32>, tensor<20x32x!tfm.block<q4_1>>) -> tensor<?x20xf32>
  tfm.yield %y : tensor<?x20xf32>
}

// CHECK-LABEL: func.func @f
// CHECK-DAG: %[[LQ:.*]] = tfm.load @w.quants
// CHECK-DAG: %[[LD:.*]] = tfm.load @w.scales
// CHECK-DAG: %[[LM:.*]] = tfm.load @w.mins
// CHECK: tfm.launch @map(%arg0, %[[LQ]], %[[LD]], %[[LM]], %{{.*}})
// CHECK-NOT: tfm.load @w :
func.func @f(%x: tensor<?x32xf32>, %out: tensor<?x20xf32>) -> tensor<?x20xf32> {
  %gain = tfm.load @gain : tensor<3xf32>
  %w = tfm.load @w : tensor<20x32x!tfm.block<q4_1>>
  %y = tfm.launch @map(%x, %w, %gain) outs(%out) tile [8, 32] : (tensor<?x32xf32>, tensor<20x32x!tfm.block<q4_1>>, tensor<3xf32>) outs(tensor<?x20xf32>)
  return %y : tensor<?x20xf32>
}
