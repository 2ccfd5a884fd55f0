// RUN: tfm-run %s window n=6 | FileCheck %s --check-prefix=WINDOW
// RUN: tfm-run %s windows n=6 | FileCheck %s --check-prefixes=WINDOW,SYMMETRIC
// RUN: tfm-run %s padding n='[2, 0, 7, -1]' | FileCheck %s --check-prefix=PADDING
// RUN: tfm-run %s parts a='[[[[1, 0, 1]]], [[[0, 1, 1]]]]' b='[[[[1], [0]]]]' | FileCheck %s --check-prefix=PARTS
// RUN: not tfm-run %s parts a='[[[[1, 0, 1]]]]' b='[[[[1, 1]]]]' 2>&1 | FileCheck %s --check-prefix=LENGTHS
// RUN: tfm-run %s bias b='[[[[0, 1, -1e999]]]]' | FileCheck %s --check-prefix=BIAS
// RUN: not tfm-run %s numbers n=2 2>&1 | FileCheck %s --check-prefix=NUMBERS
// RUN: not tfm-run %s narrow n=2 2>&1 | FileCheck %s --check-prefix=NARROW
// RUN: not tfm-run %s bias b='[[[[0, 1]]]]' 2>&1 | FileCheck %s --check-prefix=SHAPE
// Masks that indices and lengths make, their logic, and biases.

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

// A symmetric one keeps 3 on either side.
// SYMMETRIC: 1x1x5x6xi1
// SYMMETRIC-NEXT: {{^}}  1 1 1 1 0 0{{$}}
// SYMMETRIC-NEXT: {{^}}  1 1 1 1 1 0{{$}}
// SYMMETRIC-NEXT: {{^}}  1 1 1 1 1 1{{$}}
// SYMMETRIC-NEXT: {{^}}  1 1 1 1 1 1{{$}}
// SYMMETRIC-NEXT: {{^}}  0 1 1 1 1 1{{$}}
func.func @windows(%n: index {tfm.name = "n"}) -> (tensor<1x1x?x?xi1>, tensor<1x1x5x?xi1>) {
  %five = arith.constant 5 : index
  %0 = tfm.window_mask %n by %n of 4 causal : tensor<1x1x?x?xi1>
  %1 = tfm.window_mask %five by %n of 4 : tensor<1x1x5x?xi1>
  return %0, %1 : tensor<1x1x?x?xi1>, tensor<1x1x5x?xi1>
}

// PADDING: 4x1x1x3xi1
// PADDING-NEXT: {{^}}  1 1 0{{$}}
// PADDING-NEXT: {{^}}  0 0 0{{$}}
// PADDING-NEXT: {{^}}  1 1 1{{$}}
// PADDING-NEXT: {{^}}  0 0 0{{$}}
func.func @padding(%n: tensor<?xi32> {tfm.name = "n"}) -> tensor<?x1x1x3xi1> {
  %three = arith.constant 3 : index
  %0 = tfm.padding_mask %n by %three : (tensor<?xi32>, index) -> tensor<?x1x1x3xi1>
  return %0 : tensor<?x1x1x3xi1>
}

// Both, and neither nor.
// PARTS: 2x1x2x3xi1
// PARTS-NEXT: {{^}}  1 0 1{{$}}
// PARTS-NEXT: {{^}}  0 0 0{{$}}
// PARTS-NEXT: {{^}}  0 1 1{{$}}
// PARTS-NEXT: {{^}}  0 0 0{{$}}
// PARTS: 2x1x2x3xi1
// PARTS-NEXT: {{^}}  0 0 0{{$}}
// PARTS-NEXT: {{^}}  0 1 0{{$}}
// PARTS-NEXT: {{^}}  0 0 0{{$}}
// PARTS-NEXT: {{^}}  1 0 0{{$}}
// LENGTHS: error: 'tfm.mask_and' op expects lhs and rhs to have equal T, or 1 in one of them, but got 3 and 2
func.func @parts(%a: tensor<?x1x1x?xi1> {tfm.name = "a"}, %b: tensor<?x1x?x?xi1> {tfm.name = "b"}) -> (tensor<?x1x?x?xi1>, tensor<?x1x?x?xi1>) {
  %0 = tfm.mask_and %a, %b : (tensor<?x1x1x?xi1>, tensor<?x1x?x?xi1>) -> tensor<?x1x?x?xi1>
  %1 = tfm.mask_not %a : tensor<?x1x1x?xi1>
  %2 = tfm.mask_not %b : tensor<?x1x?x?xi1>
  %3 = tfm.mask_and %1, %2 : (tensor<?x1x1x?xi1>, tensor<?x1x?x?xi1>) -> tensor<?x1x?x?xi1>
  return %0, %3 : tensor<?x1x?x?xi1>, tensor<?x1x?x?xi1>
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
