// RUN: tfm-opt %s -split-input-file -verify-diagnostics
// The rules of weights, kernels and launches.

// weight-c1
// expected-error @+1 {{expects a static shape, but got 'tensor<?x4xf32>'}}
tfm.weight @w : tensor<?x4xf32> from #tfm.file<"model.gguf", 0>

// -----

// weight-c2
// expected-error @+1 {{expects the innermost dimension of blocks to be a multiple of 32}}
tfm.weight @w : tensor<4x48x!tfm.block<q4_0>> from #tfm.file<"model.gguf", 0>

// -----

// weight-c3
// expected-error @+1 {{expects elements of type 'tensor<2xf32>', but got 'tensor<2xf16>'}}
tfm.weight @w : tensor<2xf32> from dense<[1.0, 2.0]> : tensor<2xf16>

// -----

// expected-error @+1 {{expects a file, elements, a name or a packed weight as source, but got 7}}
tfm.weight @w : tensor<2xf32> from 7

// -----

// load-c1
func.func @load_a_function() {
  // expected-error @+1 {{expects @load_a_function to be a weight}}
  %0 = tfm.load @load_a_function : tensor<2xf32>
  return
}

// -----

tfm.weight @w : tensor<2xf32> from dense<[1.0, 2.0]> : tensor<2xf32>
// load-c2
func.func @load_another_type() {
  // expected-error @+1 {{expects the type of @w, 'tensor<2xf32>', but got 'tensor<2xf16>'}}
  %0 = tfm.load @w : tensor<2xf16>
  return
}

// -----

// unpack-c1
func.func @q4_1_has_three_parts(%q: tensor<1x2x4x4x32xi8>, %d: tensor<1x2x4x8xf16>) {
  // expected-error @+1 {{expects 3 parts of a 'tensor<32x64x!tfm.block<q4_1>>', but got 2}}
  %0 = tfm.unpack %q, %d : (tensor<1x2x4x4x32xi8>, tensor<1x2x4x8xf16>) -> tensor<32x64x!tfm.block<q4_1>>
  return
}

// -----

// unpack-c2
func.func @q8_0_has_bytes(%q: tensor<1x2x4x4x32xi8>, %d: tensor<1x2x4x8xf16>) {
  // expected-error @+1 {{expects quants of type 'tensor<1x2x4x8x32xi8>', but got 'tensor<1x2x4x4x32xi8>'}}
  %0 = tfm.unpack %q, %d : (tensor<1x2x4x4x32xi8>, tensor<1x2x4x8xf16>) -> tensor<32x64x!tfm.block<q8_0>>
  return
}

// -----

// yield-c1
tfm.kernel @two_for_one(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{expects the kernel's result types}}
  tfm.yield %x, %x : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// launch-c1
func.func @launch_a_function(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expects @launch_a_function to be a kernel}}
  %0 = tfm.launch @launch_a_function(%x) outs(%x) tile [] : (tensor<2x4xf32>) outs (tensor<2x4xf32>)
  return
}

// -----

tfm.kernel @copy(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  tfm.yield %x : tensor<?x4xf32>
}
// launch-c2
func.func @wrong_count(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expects 1 arguments as @copy has, but got 2}}
  %0 = tfm.launch @copy(%x, %x) outs(%x) tile [] : (tensor<2x4xf32>, tensor<2x4xf32>) outs (tensor<2x4xf32>)
  return
}

// -----

tfm.kernel @copy(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  tfm.yield %x : tensor<?x4xf32>
}
// launch-c2
func.func @wrong_shape(%x: tensor<2x5xf32>) {
  // expected-error @+1 {{expects @copy's 'tensor<?x4xf32>' among the arguments, but got 'tensor<2x5xf32>'}}
  %0 = tfm.launch @copy(%x) outs(%x) tile [] : (tensor<2x5xf32>) outs (tensor<2x5xf32>)
  return
}

// -----

tfm.kernel @copy(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  tfm.yield %x : tensor<?x4xf32>
}
// launch-c3
func.func @tile_of_rank_3(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expects a tile of at most 2 dimensions for 'tensor<2x4xf32>', but got 3}}
  %0 = tfm.launch @copy(%x) outs(%x) tile [1, 2, 3] : (tensor<2x4xf32>) outs (tensor<2x4xf32>)
  return
}
