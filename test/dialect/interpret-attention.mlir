// RUN: tfm-run %s softmax x='[[7, 7, 7], [-1e30, -1e30, -1e30], [0, 1e30, 1e30], [0, 0.69314718, 1.38629436]]' | FileCheck %s --check-prefix=SOFTMAX
// RUN: tfm-run %s masked mask='[[[[0, 0, 0], [1, 1, 0]]]]' fused mask='[[[[0, 0, 0], [1, 1, 0]]]]' | FileCheck %s --check-prefix=MASKED
// RUN: tfm-run %s causal | FileCheck %s --check-prefix=CAUSAL
// RUN: tfm-run %s no_keys q='{"shape": [1, 2, 1, 4], "random": 1}' k='{"shape": [1, 1, 0, 4]}' | FileCheck %s --check-prefix=NO-KEYS
// RUN: tfm-run %s heads x='[[[0, 1, 2, 3], [4, 5, 6, 7]]]' | FileCheck %s --check-prefix=HEADS
// Attention on numbers small enough to work out by hand.

// Equal scores share, however low or high; 1 : 2 : 4 makes sevenths.
// SOFTMAX: 4x3xf32
// SOFTMAX-NEXT: {{^}}  0.333333 0.333333 0.333333{{$}}
// SOFTMAX-NEXT: {{^}}  0.333333 0.333333 0.333333{{$}}
// SOFTMAX-NEXT: {{^}}  0 0.5 0.5{{$}}
// SOFTMAX-NEXT: {{^}}  0.142857 0.285714 0.571429{{$}}
func.func @softmax(%x: tensor<?x?xf32> {tfm.name = "x"}) -> tensor<?x?xf32> {
  %0 = tfm.softmax %x : tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

tfm.weight @q : tensor<1x1x2x1xf32> from dense<1.0> : tensor<1x1x2x1xf32>
tfm.weight @k : tensor<1x1x3x1xf32> from dense<[[[[5.0], [5.0], [9.0]]]]> : tensor<1x1x3x1xf32>
tfm.weight @v : tensor<1x1x3x2xf32> from dense<[[[[2.0, 4.0], [4.0, 8.0], [100.0, 100.0]]]]> : tensor<1x1x3x2xf32>

// S = 2, T = 3: query 0 sees no key and gives zeros, query 1 sees two keys of
// equal score and gives the mean of their values; in steps as in one.
// MASKED-LABEL: masked
// MASKED-NEXT: 1x1x2x3xf32
// MASKED-NEXT: {{^}}  0 0 0{{$}}
// MASKED-NEXT: {{^}}  0.5 0.5 0{{$}}
// MASKED-NEXT: 1x1x2x2xf32
// MASKED-NEXT: {{^}}  0 0{{$}}
// MASKED-NEXT: {{^}}  3 6{{$}}
func.func @masked(%mask: tensor<1x1x2x3xi1> {tfm.name = "mask"}) -> (tensor<1x1x2x3xf32>, tensor<1x1x2x2xf32>) {
  %q = tfm.load @q : tensor<1x1x2x1xf32>
  %k = tfm.load @k : tensor<1x1x3x1xf32>
  %v = tfm.load @v : tensor<1x1x3x2xf32>
  %0 = tfm.scores %q, %k : (tensor<1x1x2x1xf32>, tensor<1x1x3x1xf32>) -> tensor<1x1x2x3xf32>
  %1 = tfm.apply_mask %0, %mask : tensor<1x1x2x3xf32>, tensor<1x1x2x3xi1>
  %2 = tfm.softmax %1 : tensor<1x1x2x3xf32>
  %3 = tfm.mix %2, %v : (tensor<1x1x2x3xf32>, tensor<1x1x3x2xf32>) -> tensor<1x1x2x2xf32>
  return %2, %3 : tensor<1x1x2x3xf32>, tensor<1x1x2x2xf32>
}

// MASKED-LABEL: fused
// MASKED-NEXT: 1x1x2x2xf32
// MASKED-NEXT: {{^}}  0 0{{$}}
// MASKED-NEXT: {{^}}  3 6{{$}}
func.func @fused(%mask: tensor<1x1x2x3xi1> {tfm.name = "mask"}) -> tensor<1x1x2x2xf32> {
  %q = tfm.load @q : tensor<1x1x2x1xf32>
  %k = tfm.load @k : tensor<1x1x3x1xf32>
  %v = tfm.load @v : tensor<1x1x3x2xf32>
  %0 = tfm.attention %q, %k, %v mask %mask {scale = 1.0 : f32} : (tensor<1x1x2x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x2xf32>, tensor<1x1x2x3xi1>) -> tensor<1x1x2x2xf32>
  return %0 : tensor<1x1x2x2xf32>
}

// Query 0 sees key 0 alone, query 1 keys 0 and 1.
// CAUSAL: 1x1x2x3xi1
// CAUSAL-NEXT: {{^}}  1 0 0{{$}}
// CAUSAL-NEXT: {{^}}  1 1 0{{$}}
// CAUSAL-NEXT: 1x1x2x2xf32
// CAUSAL-NEXT: {{^}}  2 4{{$}}
// CAUSAL-NEXT: {{^}}  3 6{{$}}
func.func @causal() -> (tensor<1x1x2x3xi1>, tensor<1x1x2x2xf32>) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %mask = tfm.causal_mask %c2 by %c3 : tensor<1x1x2x3xi1>
  %q = tfm.load @q : tensor<1x1x2x1xf32>
  %k = tfm.load @k : tensor<1x1x3x1xf32>
  %v = tfm.load @v : tensor<1x1x3x2xf32>
  %0 = tfm.attention %q, %k, %v causal {scale = 1.0 : f32} : (tensor<1x1x2x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x2xf32>) -> tensor<1x1x2x2xf32>
  return %mask, %0 : tensor<1x1x2x3xi1>, tensor<1x1x2x2xf32>
}

// T = 0: nothing to see.
// NO-KEYS: 1x2x1x4xf32
// NO-KEYS-NEXT: {{^}}  0 0 0 0{{$}}
// NO-KEYS-NEXT: {{^}}  0 0 0 0{{$}}
func.func @no_keys(%q: tensor<?x2x?x4xf32> {tfm.name = "q"}, %k: tensor<?x1x?x4xf32> {tfm.name = "k"}) -> tensor<?x2x?x4xf32> {
  %0 = tfm.attention %q, %k, %k {scale = 0.5 : f32} : (tensor<?x2x?x4xf32>, tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>) -> tensor<?x2x?x4xf32>
  return %0 : tensor<?x2x?x4xf32>
}

// [1, 2, 4] as two heads of 2, then side by side again.
// HEADS: 1x2x2x2xf32
// HEADS-NEXT: {{^}}  0 1{{$}}
// HEADS-NEXT: {{^}}  4 5{{$}}
// HEADS-NEXT: {{^}}  2 3{{$}}
// HEADS-NEXT: {{^}}  6 7{{$}}
// HEADS-NEXT: 1x2x4xf32
// HEADS-NEXT: {{^}}  0 1 2 3{{$}}
// HEADS-NEXT: {{^}}  4 5 6 7{{$}}
func.func @heads(%x: tensor<?x?x4xf32> {tfm.name = "x"}) -> (tensor<?x2x?x2xf32>, tensor<?x?x4xf32>) {
  %0 = tfm.split_heads %x into 2 : (tensor<?x?x4xf32>) -> tensor<?x2x?x2xf32>
  %1 = tfm.merge_heads %0 : (tensor<?x2x?x2xf32>) -> tensor<?x?x4xf32>
  return %0, %1 : tensor<?x2x?x2xf32>, tensor<?x?x4xf32>
}
