// RUN: tfm-opt %s -split-input-file -verify-diagnostics
// The rules of embedding, norm, linear maps and their quantized form.

// rope-c1
func.func @odd_dims(%x: tensor<1x2x3x8xf32>) {
  // expected-error @+1 {{expects an even number of dims from 2 to the head size D, but got 7 and D = 8}}
  %0 = tfm.rope %x half {dims = 7 : i64, theta = 1.0e+04 : f64} : tensor<1x2x3x8xf32>
  return
}

// -----

// rope-c1
func.func @more_dims_than_elements(%x: tensor<1x2x3x8xf32>) {
  // expected-error @+1 {{expects an even number of dims from 2 to the head size D, but got 10 and D = 8}}
  %0 = tfm.rope %x half {dims = 10 : i64, theta = 1.0e+04 : f64} : tensor<1x2x3x8xf32>
  return
}

// -----

// rope-c2
func.func @theta_of_zero(%x: tensor<1x2x3x8xf32>) {
  // expected-error @+1 {{expects theta to be greater than 0, but got 0}}
  %0 = tfm.rope %x interleaved {dims = 8 : i64, theta = 0.0 : f64} : tensor<1x2x3x8xf32>
  return
}

// -----

// rope-c3
func.func @offsets_of_another_batch(%x: tensor<2x2x3x8xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{expects input and offsets to have equal batch B, but got 2 and 3}}
  %0 = tfm.rope %x at %o interleaved {dims = 8 : i64, theta = 1.0 : f64} : tensor<2x2x3x8xf32>, tensor<3xi32>
  return
}

// -----

// embed-positions-c1
func.func @start(%x: tensor<?x?xi32>, %t: tensor<8x4xf32>) {
  // expected-error @+1 {{expects start to be at least 0 and less than the table's T, but got 8 and T = 8}}
  %0 = tfm.embed_positions %x, %t {start = 8 : i64} : (tensor<?x?xi32>, tensor<8x4xf32>) -> tensor<?x?x4xf32>
  return
}

// -----

// embed-positions-c2
func.func @positions_of_another_batch(%x: tensor<2x?xi32>, %t: tensor<8x4xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{expects tokens and offsets to have equal batch B, but got 2 and 3}}
  %0 = tfm.embed_positions %x, %t at %o : (tensor<2x?xi32>, tensor<8x4xf32>, tensor<3xi32>) -> tensor<2x?x4xf32>
  return
}

// -----

// layer-norm-c1
func.func @layer_norm_gain(%x: tensor<?x?x8xf32>, %g: tensor<9xf32>) {
  // expected-error @+1 {{expects input and gain to have equal model size E, but got 8 and 9}}
  %0 = tfm.layer_norm %x, %g {epsilon = 1.0e-5 : f32} : tensor<?x?x8xf32>, tensor<9xf32>
  return
}

// -----

// layer-norm-c1
func.func @layer_norm_bias(%x: tensor<?x?x8xf32>, %g: tensor<8xf32>, %b: tensor<7xf32>) {
  // expected-error @+1 {{expects input and bias to have equal model size E, but got 8 and 7}}
  %0 = tfm.layer_norm %x, %g, %b {epsilon = 1.0e-5 : f32} : tensor<?x?x8xf32>, tensor<8xf32>, tensor<7xf32>
  return
}

// -----

// add-vector-c1
func.func @vector(%x: tensor<?x8xf32>, %v: tensor<9xf32>) {
  // expected-error @+1 {{expects input and vector to have equal size E, but got 8 and 9}}
  %0 = tfm.add_vector %x, %v : tensor<?x8xf32>, tensor<9xf32>
  return
}

// -----

// ffn-c4
func.func @ffn_bias(%x: tensor<?x8xf32>, %u: tensor<20x8xf32>, %d: tensor<8x20xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{expects up and its bias to have equal outer size, but got 20 and 8}}
  %0 = tfm.ffn relu %x up %u bias %b down %d : (tensor<?x8xf32>, tensor<20x8xf32>, tensor<8x20xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

// ffn-c5
func.func @gate_bias(%x: tensor<?x8xf32>, %u: tensor<20x8xf32>, %d: tensor<8x20xf32>, %b: tensor<20xf32>) {
  // expected-error @+1 {{expects a gate, but got only its bias}}
  %0 = tfm.ffn relu %x up %u down %d gate_bias %b : (tensor<?x8xf32>, tensor<20x8xf32>, tensor<8x20xf32>, tensor<20xf32>) -> tensor<?x8xf32>
  return
}

// -----

// rms-norm-c1
func.func @gain(%x: tensor<?x?x8xf32>, %g: tensor<9xf32>) {
  // expected-error @+1 {{expects input and gain to have equal model size E, but got 8 and 9}}
  %0 = tfm.rms_norm %x, %g {epsilon = 1.0e-5 : f32} : tensor<?x?x8xf32>, tensor<9xf32>
  return
}

// -----

// linear-c1
func.func @linear_inner(%x: tensor<?x8xf32>, %w: tensor<4x9xf16>) {
  // expected-error @+1 {{expects input and weight to have equal inner size K, but got 8 and 9}}
  %0 = tfm.linear %x, %w : (tensor<?x8xf32>, tensor<4x9xf16>) -> tensor<?x4xf32>
  return
}

// -----

// linear-c2
func.func @linear_bias(%x: tensor<?x8xf32>, %w: tensor<4x8xf16>, %b: tensor<8xf32>) {
  // expected-error @+1 {{expects weight and bias to have equal outer size N, but got 4 and 8}}
  %0 = tfm.linear %x, %w, %b : (tensor<?x8xf32>, tensor<4x8xf16>, tensor<8xf32>) -> tensor<?x4xf32>
  return
}

// -----

// ffn-c1
func.func @ffn_input(%x: tensor<?x7xf32>, %u: tensor<16x8xf32>, %d: tensor<8x16xf32>) {
  // expected-error @+1 {{expects input and up to have equal model size E, but got 7 and 8}}
  %0 = tfm.ffn relu %x up %u down %d : (tensor<?x7xf32>, tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<?x8xf32>
  return
}

// -----

// ffn-c2
func.func @ffn_gate(%x: tensor<?x8xf32>, %u: tensor<16x8xf32>, %d: tensor<8x16xf32>, %g: tensor<15x8xf32>) {
  // expected-error @+1 {{expects up and gate to have equal feed-forward size F, but got 16 and 15}}
  %0 = tfm.ffn silu %x up %u down %d gate %g : (tensor<?x8xf32>, tensor<16x8xf32>, tensor<8x16xf32>, tensor<15x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

// ffn-c3
func.func @ffn_down(%x: tensor<?x8xf32>, %u: tensor<16x8xf32>, %d: tensor<8x15xf32>) {
  // expected-error @+1 {{expects up and down to have equal feed-forward size F, but got 16 and 15}}
  %0 = tfm.ffn relu %x up %u down %d : (tensor<?x8xf32>, tensor<16x8xf32>, tensor<8x15xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @scalars_have_no_rows(%x: tensor<f32>) {
  // expected-error @+1 {{operand #0 must be non-0-ranked.tensor of 32-bit float values, but got 'tensor<f32>'}}
  %0 = tfm.softmax %x : tensor<f32>
  return
}

// -----

// quantize-c1
func.func @quantize_part_of_a_block(%x: tensor<?x48xf32>) {
  // expected-error @+1 {{expects the row size K to be a multiple of 32, but got 48}}
  %q, %d, %s = tfm.quantize %x : (tensor<?x48xf32>) -> (tensor<?x48xi8>, tensor<?x1xf32>, tensor<?x1xf32>)
  return
}

// -----

// quantized-linear-c1
func.func @quantized_inner(%q: tensor<?x64xi8>, %d: tensor<?x2xf32>, %w: tensor<8x96x!tfm.block<q8_0>>) {
  // expected-error @+1 {{expects quants and weight to have equal inner size K, but got 64 and 96}}
  %0 = tfm.quantized_linear %q, %d, %d, %w : (tensor<?x64xi8>, tensor<?x2xf32>, tensor<?x2xf32>, tensor<8x96x!tfm.block<q8_0>>) -> tensor<?x8xf32>
  return
}

// -----

// quantized-linear-c2
func.func @quantized_scales(%q: tensor<?x64xi8>, %d: tensor<?x2xf32>, %s: tensor<?x3xf32>, %w: tensor<8x64x!tfm.block<q8_0>>) {
  // expected-error @+1 {{expects a row of K/32 blocks and its scales to have equal length, but got 2 and 3}}
  %0 = tfm.quantized_linear %q, %d, %s, %w : (tensor<?x64xi8>, tensor<?x2xf32>, tensor<?x3xf32>, tensor<8x64x!tfm.block<q8_0>>) -> tensor<?x8xf32>
  return
}
