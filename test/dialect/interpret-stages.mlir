// RUN: tfm-run %s elementwise x='[1, -2, 3]' y='[10, 20, 30]' | FileCheck %s --check-prefix=ELEMENTWISE
// RUN: tfm-run %s slices x='[[1, 2, 3], [4, 5, 6]]' | FileCheck %s --check-prefix=SLICES
// RUN: tfm-run %s sizes x='{"shape": [7, 3]}' n=-5 | FileCheck %s --check-prefix=SIZES
// RUN: tfm-run %s kernels x='[[1, 2], [3, 4]]' | FileCheck %s --check-prefix=KERNELS
// RUN: tfm-run %s planned x='[[1, 2, 3, 4]]' planned x='[[5, 6, 7, 8], [0, 0, 0, 0]]' | FileCheck %s --check-prefix=PLANNED
// RUN: tfm-run %s --argmax elementwise x='[1, -2, 3]' y='[10, 20, 3]' | FileCheck %s --check-prefix=ARGMAX
// RUN: tfm-run %s --limit=2 --precision=3 scaled x='[1, 0.12345, 7]' | FileCheck %s --check-prefix=LIMIT
// The interpreter runs the forms that the pipeline gives a program: tensors,
// kernels, and launches on buffers in an arena.

// ELEMENTWISE: elementwise
// ELEMENTWISE-NEXT: sum: 3xf32
// ELEMENTWISE-NEXT: {{^}}  11 18 33{{$}}
// ELEMENTWISE-NEXT: product: 3xf32
// ELEMENTWISE-NEXT: {{^}}  10 -40 90{{$}}
// ARGMAX: sum: 3xf32
// ARGMAX-NEXT: {{^}}  1{{$}}
// ARGMAX-NEXT: product: 3xf32
// ARGMAX-NEXT: {{^}}  0{{$}}
func.func @elementwise(%x: tensor<?xf32> {tfm.name = "x"}, %y: tensor<?xf32> {tfm.name = "y"}) -> (tensor<?xf32> {tfm.name = "sum"}, tensor<?xf32> {tfm.name = "product"}) {
  %0 = tfm.add %x, %y : tensor<?xf32>
  %1 = tfm.mul %x, %y : tensor<?xf32>
  return %0, %1 : tensor<?xf32>, tensor<?xf32>
}

// LIMIT: {{^}}  -0.5 -0.0617 ...{{$}}
func.func @scaled(%x: tensor<?xf32> {tfm.name = "x"}) -> tensor<?xf32> {
  %0 = tfm.scale %x by -0.5 : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// SLICES: 0: 2x2xf32
// SLICES-NEXT: {{^}}  2 3{{$}}
// SLICES-NEXT: {{^}}  5 6{{$}}
// SLICES-NEXT: 1: 3xf32
// SLICES-NEXT: {{^}}  4 5 6{{$}}
// SLICES-NEXT: 2: 6xf32
// SLICES-NEXT: {{^}}  1 2 3 4 5 6{{$}}
// SLICES-NEXT: 3: 3x2xf32
// SLICES-NEXT: {{^}}  1 2{{$}}
// SLICES-NEXT: {{^}}  3 4{{$}}
// SLICES-NEXT: {{^}}  5 6{{$}}
func.func @slices(%x: tensor<?x3xf32> {tfm.name = "x"}) -> (tensor<?x2xf32>, tensor<3xf32>, tensor<?xf32>, tensor<?x2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %rows = tensor.dim %x, %c0 : tensor<?x3xf32>
  %0 = tensor.extract_slice %x[0, 1] [%rows, 2] [1, 1] : tensor<?x3xf32> to tensor<?x2xf32>
  %1 = tensor.extract_slice %x[%c1, 0] [1, 3] [1, 1] : tensor<?x3xf32> to tensor<3xf32>
  %2 = tensor.collapse_shape %x [[0, 1]] : tensor<?x3xf32> into tensor<?xf32>
  %3 = tensor.expand_shape %2 [[0, 1]] output_shape [%c3, 2] : tensor<?xf32> into tensor<?x2xf32>
  return %0, %1, %2, %3 : tensor<?x2xf32>, tensor<3xf32>, tensor<?xf32>, tensor<?x2xf32>
}

// 7 rows: 7 - 5, 7 * -5, ceil(7 / 2), floor(-5 / 2), -5 / 2, max, min, 7 mod 2.
// SIZES: 0: 2
// SIZES-NEXT: 1: -35
// SIZES-NEXT: 2: 4
// SIZES-NEXT: 3: -3
// SIZES-NEXT: 4: -2
// SIZES-NEXT: 5: 7
// SIZES-NEXT: 6: -5
// SIZES-NEXT: 7: 1
func.func @sizes(%x: tensor<?x3xf32> {tfm.name = "x"}, %n: index {tfm.name = "n"}) -> (index, index, index, index, index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %rows = tensor.dim %x, %c0 : tensor<?x3xf32>
  %0 = arith.addi %rows, %n : index
  %1 = arith.muli %rows, %n : index
  %2 = arith.ceildivsi %rows, %c2 : index
  %3 = arith.floordivsi %n, %c2 : index
  %4 = arith.divsi %n, %c2 : index
  %5 = arith.maxsi %rows, %n : index
  %6 = arith.minsi %rows, %n : index
  %7 = arith.remsi %rows, %c2 : index
  return %0, %1, %2, %3, %4, %5, %6, %7 : index, index, index, index, index, index, index, index
}

tfm.kernel @twice(%x: tensor<?x2xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>) {
  %0 = tfm.scale %x by 2.0 : tensor<?x2xf32>
  %1 = tfm.add %0, %x : tensor<?x2xf32>
  tfm.yield %0, %1 : tensor<?x2xf32>, tensor<?x2xf32>
}

// KERNELS: 0: 2x2xf32
// KERNELS-NEXT: {{^}}  2 4{{$}}
// KERNELS-NEXT: {{^}}  6 8{{$}}
// KERNELS-NEXT: 1: 2x2xf32
// KERNELS-NEXT: {{^}}  3 6{{$}}
// KERNELS-NEXT: {{^}}  9 12{{$}}
func.func @kernels(%x: tensor<2x2xf32> {tfm.name = "x"}) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %init = tensor.empty() : tensor<2x2xf32>
  %0:2 = tfm.launch @twice(%x) outs(%init, %init) tile [1, 0] : (tensor<2x2xf32>) outs (tensor<2x2xf32>, tensor<2x2xf32>)
  return %0#0, %0#1 : tensor<2x2xf32>, tensor<2x2xf32>
}

tfm.weight @two : tensor<2xf32> from dense<2.0> : tensor<2xf32>
tfm.kernel @norm(%x: tensor<?x2xf32>, %gain: tensor<2xf32>) -> tensor<?x2xf32> {
  %0 = tfm.rms_norm %x, %gain {epsilon = 0.0 : f32} : tensor<?x2xf32>, tensor<2xf32>
  tfm.yield %0 : tensor<?x2xf32>
}

// Columns 2 and 3 doubled into the arena, then normed: (3, 4) has root mean
// square sqrt(12.5); with a gain of 2 that is (6, 8) / 3.53553.
// PLANNED: planned
// PLANNED-NEXT: y: 1x2xf32
// PLANNED-NEXT: {{^}}  1.69706 2.26274{{$}}
// PLANNED-NEXT: planned
// PLANNED-NEXT: y: 2x2xf32
// PLANNED-NEXT: {{^}}  1.8{{[0-9]+}} 2.1{{[0-9]+}}{{$}}
// PLANNED-NEXT: {{^}}  {{-?nan -?nan}}
func.func @planned(%x: memref<?x4xf32> {tfm.name = "x"}, %y: memref<?x2xf32> {tfm.name = "y"}, %arena: memref<?xi8> {tfm.name = "arena"}) attributes {tfm.arena = #tfm.arena<per_row = 0, per_sample = 16, fixed = 64>} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %b = memref.dim %x, %c0 : memref<?x4xf32>
  %half = arith.muli %b, %c8 : index
  %after = arith.addi %c64, %half : index
  %0 = memref.view %arena[%c64][%b] : memref<?xi8> to memref<?x2xf32>
  %1 = memref.view %arena[%after][%b] : memref<?xi8> to memref<?x2xf32>
  %columns = memref.subview %x[0, 2] [%b, 2] [1, 1] : memref<?x4xf32> to memref<?x2xf32, strided<[4, 1], offset: 2>>
  tfm.launch @twice(%columns) outs(%0, %1) tile [1] : (memref<?x2xf32, strided<[4, 1], offset: 2>>) outs (memref<?x2xf32>, memref<?x2xf32>)
  %gain = tfm.load @two : memref<2xf32>
  tfm.launch @norm(%0, %gain) outs(%y) tile [] : (memref<?x2xf32>, memref<2xf32>) outs (memref<?x2xf32>)
  return
}
