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
