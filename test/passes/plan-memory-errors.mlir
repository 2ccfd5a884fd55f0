// RUN: tfm-opt %s --tfm-plan-memory -split-input-file -verify-diagnostics
// A temporary that does not grow with B · S is refused: there is no formula for
// its size, and the arena would be too small.

tfm.kernel @scores(%x: tensor<?x?x8xf32>) -> tensor<?x?x?xf32> {
  %y = tfm.softmax %x : tensor<?x?x8xf32>
  %z = tensor.cast %y : tensor<?x?x8xf32> to tensor<?x?x?xf32>
  tfm.yield %z : tensor<?x?x?xf32>
}
func.func @square(%x: tensor<?x?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x8xf32>
  %s = tensor.dim %x, %c1 : tensor<?x?x8xf32>
  %out = tensor.empty(%b, %s, %s) : tensor<?x?x?xf32>
  // expected-error @+1 {{expects sizes with the batch B and the length S once at most, but got B^1·S^2 in 'tensor<?x?x?xf32>'}}
  %0 = tfm.launch @scores(%x) outs(%out) tile [1] : (tensor<?x?x8xf32>) outs(tensor<?x?x?xf32>)
  return
}

// -----

// The length of another argument need not be S.
tfm.kernel @twice(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %y = tfm.add %x, %x : tensor<?x?x8xf32>
  tfm.yield %y : tensor<?x?x8xf32>
}
func.func @other(%x: tensor<?x?x8xf32>, %memory: tensor<?x?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x8xf32>
  %t = tensor.dim %memory, %c1 : tensor<?x?x8xf32>
  %out = tensor.empty(%b, %t) : tensor<?x?x8xf32>
  // expected-error @+1 {{expects sizes that are products of the batch and the length, but got}}
  %0 = tfm.launch @twice(%memory) outs(%out) tile [1] : (tensor<?x?x8xf32>) outs(tensor<?x?x8xf32>)
  return
}

// -----

func.func @no_rows(%n: index) {
  // expected-error @-1 {{expects a first argument whose leading dimensions are B and S}}
  return
}

// -----

// Sizes that wrap around would share memory with others.
tfm.kernel @wide(%x: tensor<?x?x8xf32>) -> tensor<?x?x4611686018427387904xf32> {
  %y = tensor.cast %x : tensor<?x?x8xf32> to tensor<?x?x?xf32>
  %z = tensor.cast %y : tensor<?x?x?xf32> to tensor<?x?x4611686018427387904xf32>
  tfm.yield %z : tensor<?x?x4611686018427387904xf32>
}
func.func @wraps(%x: tensor<?x?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x8xf32>
  %s = tensor.dim %x, %c1 : tensor<?x?x8xf32>
  %out = tensor.empty(%b, %s) : tensor<?x?x4611686018427387904xf32>
  // expected-error @+1 {{expects temporaries of at most 1099511627776 bytes per row, but got 'tensor<?x?x4611686018427387904xf32>'}}
  %0 = tfm.launch @wide(%x) outs(%out) tile [1] : (tensor<?x?x8xf32>) outs(tensor<?x?x4611686018427387904xf32>)
  return
}

// -----

// Products of products take no time.
tfm.kernel @square(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %y = tfm.add %x, %x : tensor<?x?x8xf32>
  tfm.yield %y : tensor<?x?x8xf32>
}
func.func @powers(%x: tensor<?x?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x8xf32>
  %m0 = tensor.dim %x, %c1 : tensor<?x?x8xf32>
  %m1 = arith.muli %m0, %m0 : index
  %m2 = arith.muli %m1, %m1 : index
  %m3 = arith.muli %m2, %m2 : index
  %m4 = arith.muli %m3, %m3 : index
  %m5 = arith.muli %m4, %m4 : index
  %m6 = arith.muli %m5, %m5 : index
  %m7 = arith.muli %m6, %m6 : index
  %m8 = arith.muli %m7, %m7 : index
  %m9 = arith.muli %m8, %m8 : index
  %m10 = arith.muli %m9, %m9 : index
  %m11 = arith.muli %m10, %m10 : index
  %m12 = arith.muli %m11, %m11 : index
  %m13 = arith.muli %m12, %m12 : index
  %m14 = arith.muli %m13, %m13 : index
  %m15 = arith.muli %m14, %m14 : index
  %m16 = arith.muli %m15, %m15 : index
  %m17 = arith.muli %m16, %m16 : index
  %m18 = arith.muli %m17, %m17 : index
  %m19 = arith.muli %m18, %m18 : index
  %m20 = arith.muli %m19, %m19 : index
  %m21 = arith.muli %m20, %m20 : index
  %m22 = arith.muli %m21, %m21 : index
  %m23 = arith.muli %m22, %m22 : index
  %m24 = arith.muli %m23, %m23 : index
  %m25 = arith.muli %m24, %m24 : index
  %m26 = arith.muli %m25, %m25 : index
  %m27 = arith.muli %m26, %m26 : index
  %m28 = arith.muli %m27, %m27 : index
  %m29 = arith.muli %m28, %m28 : index
  %m30 = arith.muli %m29, %m29 : index
  %m31 = arith.muli %m30, %m30 : index
  %m32 = arith.muli %m31, %m31 : index
  %m33 = arith.muli %m32, %m32 : index
  %m34 = arith.muli %m33, %m33 : index
  %m35 = arith.muli %m34, %m34 : index
  %m36 = arith.muli %m35, %m35 : index
  %m37 = arith.muli %m36, %m36 : index
  %m38 = arith.muli %m37, %m37 : index
  %m39 = arith.muli %m38, %m38 : index
  %m40 = arith.muli %m39, %m39 : index
  %out = tensor.empty(%b, %m40) : tensor<?x?x8xf32>
  // expected-error @+1 {{expects sizes with the batch B and the length S once at most, but got B^1·S^2}}
  %0 = tfm.launch @square(%x) outs(%out) tile [1] : (tensor<?x?x8xf32>) outs(tensor<?x?x8xf32>)
  return
}

// -----

// expected-error @+1 {{expects a function of one block}}
func.func private @external(%x: tensor<?x?x8xf32>)
