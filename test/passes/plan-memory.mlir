// RUN: tfm-opt %s --tfm-plan-memory --canonicalize --cse | FileCheck %s
// Rows of 20 f32 are 80 bytes, of which each temporary gets 128, two cache
// lines, per row. The third comes to life when the first is dead and takes its
// place, so the arena is 2 · 128 · B·S. The last launch writes the result.

tfm.kernel @twice(%x: tensor<?x20xf32>) -> tensor<?x20xf32> {
  %y = tfm.add %x, %x : tensor<?x20xf32>
  tfm.yield %y : tensor<?x20xf32>
}

// CHECK-LABEL: func.func @chain
// CHECK-SAME: (%[[X:.*]]: memref<?x?x20xf32>, %[[Y:.*]]: memref<?x?x20xf32> {tfm.name = "y", tfm.result}, %[[ARENA:.*]]: memref<?xi8> {tfm.name = "arena"})
// CHECK-SAME: tfm.arena = #tfm.arena<per_row = 256, per_sample = 0, fixed = 0>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0
// CHECK-DAG: %[[SIZE:.*]] = arith.constant 128
// CHECK-DAG: %[[ROWS:.*]] = arith.muli
// CHECK-DAG: %[[OUT:.*]] = memref.collapse_shape %[[Y]]
// CHECK: %[[FIRST:.*]] = memref.view %[[ARENA]][%[[ZERO]]][%[[ROWS]]]
// CHECK: tfm.launch @twice(%{{.*}}) outs(%[[FIRST]])
// CHECK: %[[AT:.*]] = arith.muli %[[ROWS]], %[[SIZE]]
// CHECK: %[[SECOND:.*]] = memref.view %[[ARENA]][%[[AT]]][%[[ROWS]]]
// CHECK: tfm.launch @twice(%[[FIRST]]) outs(%[[SECOND]])
// CHECK: tfm.launch @twice(%[[SECOND]]) outs(%[[FIRST]])
// CHECK: tfm.launch @twice(%[[FIRST]]) outs(%[[OUT]])
// CHECK-NEXT: return
func.func @chain(%x: tensor<?x?x20xf32>) -> (tensor<?x?x20xf32> {tfm.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x20xf32>
  %s = tensor.dim %x, %c1 : tensor<?x?x20xf32>
  %rows = arith.muli %b, %s : index
  %flat = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x20xf32> into tensor<?x20xf32>
  %out = tensor.empty(%rows) : tensor<?x20xf32>
  %0 = tfm.launch @twice(%flat) outs(%out) tile [4] : (tensor<?x20xf32>) outs(tensor<?x20xf32>)
  %1 = tfm.launch @twice(%0) outs(%out) tile [4] : (tensor<?x20xf32>) outs(tensor<?x20xf32>)
  %2 = tfm.launch @twice(%1) outs(%out) tile [4] : (tensor<?x20xf32>) outs(tensor<?x20xf32>)
  %3 = tfm.launch @twice(%2) outs(%out) tile [4] : (tensor<?x20xf32>) outs(tensor<?x20xf32>)
  %y = tensor.expand_shape %3 [[0, 1], [2]] output_shape [%b, %s, 20] : tensor<?x20xf32> into tensor<?x?x20xf32>
  return %y : tensor<?x?x20xf32>
}
