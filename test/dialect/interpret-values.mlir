// RUN: tfm-run %s softmax_rows | FileCheck %s --check-prefix=SOFTMAX
// RUN: tfm-run %s masked_rows | FileCheck %s --check-prefix=MASKED
// RUN: tfm-run %s no_keys q='{"shape": [1, 2, 1, 4], "random": 1}' \
// RUN:   k='{"shape": [1, 1, 0, 4]}' | FileCheck %s --check-prefix=NO-KEYS
// RUN: tfm-run %s causal | FileCheck %s --check-prefix=CAUSAL
// RUN: tfm-run %s heads x='[[[0, 1, 2, 3], [4, 5, 6, 7]]]' \
// RUN:   | FileCheck %s --check-prefix=HEADS
// RUN: tfm-run %s norm | FileCheck %s --check-prefix=NORM
// RUN: tfm-run %s elementwise x='[1, -2, 3]' y='[10, 20, 30]' \
// RUN:   | FileCheck %s --check-prefix=ELEMENTWISE
// RUN: tfm-run %s quantize_rows x='{"shape": [1, 32], "random": 1}' \
// RUN:   | FileCheck %s --check-prefix=QUANTIZE
// Numbers small enough to work out by hand.

tfm.weight @rows : tensor<4x3xf32> from dense<[
  [0.0, 0.0, 0.0], [-1.0e30, -1.0e30, -1.0e30],
  [0xFF800000, 0xFF800000, 0xFF800000], [0xFF800000, 1000.0, 1000.0]
]> : tensor<4x3xf32>

// Equal scores share; a row at -infinity is zeros, not NaN.
// SOFTMAX: 4x3xf32
// SOFTMAX-NEXT: 0.333333 0.333333 0.333333
// SOFTMAX-NEXT: 0.333333 0.333333 0.333333
// SOFTMAX-NEXT: 0 0 0
// SOFTMAX-NEXT: 0 0.5 0.5
func.func @softmax_rows() -> tensor<4x3xf32> {
  %0 = tfm.load @rows : tensor<4x3xf32>
  %1 = tfm.softmax %0 : tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

tfm.weight @q : tensor<1x1x2x1xf32> from dense<[[[[1.0], [1.0]]]]> : tensor<1x1x2x1xf32>
tfm.weight @k : tensor<1x1x3x1xf32> from dense<[[[[5.0], [5.0], [9.0]]]]> : tensor<1x1x3x1xf32>
tfm.weight @v : tensor<1x1x3x2xf32> from dense<[[[[2.0, 4.0], [4.0, 8.0], [100.0, 100.0]]]]> : tensor<1x1x3x2xf32>
tfm.weight @keep : tensor<1x1x2x3xi8> from dense<[[[[0, 0, 0], [1, 1, 0]]]]> : tensor<1x1x2x3xi8>

// S = 2, T = 3: query 0 sees nothing and gives zeros, query 1 sees two keys of
// equal score and gives the mean of their values. Causal masks the same by
// hiding keys 1 and 2 of query 0, and key 2 of query 1.
// MASKED: 1x1x2x2xf32
// MASKED-NEXT: 2 4
// MASKED-NEXT: 3 6
func.func @masked_rows() -> tensor<1x1x2x2xf32> {
  %q = tfm.load @q : tensor<1x1x2x1xf32>
  %k = tfm.load @k : tensor<1x1x3x1xf32>
  %v = tfm.load @v : tensor<1x1x3x2xf32>
  %0 = tfm.attention %q, %k, %v causal {scale = 1.0 : f32} : (tensor<1x1x2x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x2xf32>) -> tensor<1x1x2x2xf32>
  return %0 : tensor<1x1x2x2xf32>
}
