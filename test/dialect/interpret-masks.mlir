// RUN: tfm-run %s window n=6 | FileCheck %s --check-prefix=WINDOW
// RUN: tfm-run %s bias b='[[[[0, 1, -1e999]]]]' | FileCheck %s --check-prefix=BIAS
// RUN: not tfm-run %s numbers n=2 2>&1 | FileCheck %s --check-prefix=NUMBERS
// RUN: not tfm-run %s narrow n=2 2>&1 | FileCheck %s --check-prefix=NARROW
// RUN: not tfm-run %s bias b='[[[[0, 1]]]]' 2>&1 | FileCheck %s --check-prefix=SHAPE
// Masks that indices make, and biases.

// A window of 4 keeps 4 keys, the query's own among them.
// WINDOW: 1x1x6x6xi1
// WINDOW-NEXT: {{^}}  1 0 0 0 0 0{{$}}
// WINDOW-NEXT: {{^}}  1 1 0 0 0 0{{$}}
// WINDOW-NEXT: {{^}}  1 1 1 0 0 0{{$}}
// WINDOW-NEXT: {{^}}  1 1 1 1 0 0{{$}}
// WINDOW-NEXT: {{^}}  0 1 1 1 1 0{{$}}
// WINDOW-NEXT: {{^}}  0 0 1 1 1 1{{$}}
func.func @window(%n: index {tfm.name = "n"}) -> tensor<1x1x?x?xi1> {
  %four = arith.constant 4 : index
  %all = arith.constant true
  %m = tensor.generate %n, %n {
  ^bb0(%b: index, %h: index, %s: index, %t: index):
    %past = arith.cmpi sle, %t, %s : index
    %ago = arith.subi %s, %t : index
    %far = arith.cmpi sge, %ago, %four : index
    %near = arith.xori %far, %all : i1
    %keep = arith.andi %past, %near : i1
    tensor.yield %keep : i1
  } : tensor<1x1x?x?xi1>
  return %m : tensor<1x1x?x?xi1>
}

// BIAS: 1x2x1x3xf32
// BIAS-NEXT: {{^}}  5 6 -inf{{$}}
// BIAS-NEXT: {{^}}  5 6 -inf{{$}}
// SHAPE: error: 'tfm.add_bias' op expects the bias's T to be 1 or that of the scores, but got 2 and 3
tfm.weight @s : tensor<1x2x1x3xf32> from dense<5.0> : tensor<1x2x1x3xf32>
func.func @bias(%b: tensor<1x1x1x?xf32> {tfm.name = "b"}) -> tensor<1x2x1x3xf32> {
  %s = tfm.load @s : tensor<1x2x1x3xf32>
  %0 = tfm.add_bias %s, %b : tensor<1x2x1x3xf32>, tensor<1x1x1x?xf32>
  return %0 : tensor<1x2x1x3xf32>
}

// NUMBERS: error: the interpreter supports masks of i1, but got 'tensor<?xindex>'
func.func @numbers(%n: index {tfm.name = "n"}) -> tensor<?xindex> {
  %0 = tensor.generate %n {
  ^bb0(%i: index):
    tensor.yield %i : index
  } : tensor<?xindex>
  return %0 : tensor<?xindex>
}

// NARROW: error: the interpreter supports comparisons of index, but got 'i1'
func.func @narrow(%n: index {tfm.name = "n"}) -> tensor<?xi1> {
  %all = arith.constant true
  %0 = tensor.generate %n {
  ^bb0(%i: index):
    %same = arith.cmpi eq, %all, %all : i1
    tensor.yield %same : i1
  } : tensor<?xi1>
  return %0 : tensor<?xi1>
}
