// RUN: tfm-opt %s -split-input-file -verify-diagnostics
// The rules of heads, scores, masks and attention.

// split-heads-c1
func.func @heads_that_do_not_divide(%x: tensor<?x?x100xf32>) {
  // expected-error @+1 {{expects the model size E to be a multiple of the number of heads, but got 100 and 9}}
  %0 = tfm.split_heads %x into 9 : (tensor<?x?x100xf32>) -> tensor<?x9x?x?xf32>
  return
}

// -----

// scores-c1
func.func @scores_batch(%q: tensor<2x6x3x8xf32>, %k: tensor<1x2x5x8xf32>) {
  // expected-error @+1 {{expects query and key to have equal batch B, but got 2 and 1}}
  %0 = tfm.scores %q, %k : (tensor<2x6x3x8xf32>, tensor<1x2x5x8xf32>) -> tensor<2x6x3x5xf32>
  return
}

// -----

// scores-c2
func.func @scores_head_size(%q: tensor<2x6x3x8xf32>, %k: tensor<2x2x5x4xf32>) {
  // expected-error @+1 {{expects query and key to have equal head size D, but got 8 and 4}}
  %0 = tfm.scores %q, %k : (tensor<2x6x3x8xf32>, tensor<2x2x5x4xf32>) -> tensor<2x6x3x5xf32>
  return
}

// -----

// scores-c3
func.func @scores_groups(%q: tensor<2x6x3x8xf32>, %k: tensor<2x4x5x8xf32>) {
  // expected-error @+1 {{expects the number of query heads H to be a multiple of the key/value heads G, but got 6 and 4}}
  %0 = tfm.scores %q, %k : (tensor<2x6x3x8xf32>, tensor<2x4x5x8xf32>) -> tensor<2x6x3x5xf32>
  return
}

// -----

func.func @scores_result(%q: tensor<2x6x3x8xf32>, %k: tensor<2x2x5x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{inferred type(s) 'tensor<2x6x3x5xf32>' are incompatible with return type(s) of operation 'tensor<2x6x3x4xf32>'}}
  %0 = tfm.scores %q, %k : (tensor<2x6x3x8xf32>, tensor<2x2x5x8xf32>) -> tensor<2x6x3x4xf32>
  return
}

// -----

// apply-mask-c1
func.func @mask_of_other_length(%s: tensor<2x6x3x5xf32>, %m: tensor<1x1x3x4xi1>) {
  // expected-error @+1 {{expects the mask's T to be 1 or that of the scores, but got 4 and 5}}
  %0 = tfm.apply_mask %s, %m : tensor<2x6x3x5xf32>, tensor<1x1x3x4xi1>
  return
}

// -----

// mix-c1
func.func @mix_batch(%p: tensor<2x6x3x5xf32>, %v: tensor<3x2x5x8xf32>) {
  // expected-error @+1 {{expects probabilities and value to have equal batch B, but got 2 and 3}}
  %0 = tfm.mix %p, %v : (tensor<2x6x3x5xf32>, tensor<3x2x5x8xf32>) -> tensor<2x6x3x8xf32>
  return
}

// -----

// mix-c2
func.func @mix_length(%p: tensor<2x6x3x5xf32>, %v: tensor<2x2x4x8xf32>) {
  // expected-error @+1 {{expects probabilities and value to have equal length T, but got 5 and 4}}
  %0 = tfm.mix %p, %v : (tensor<2x6x3x5xf32>, tensor<2x2x4x8xf32>) -> tensor<2x6x3x8xf32>
  return
}

// -----

// mix-c3
func.func @mix_groups(%p: tensor<2x6x3x5xf32>, %v: tensor<2x5x5x8xf32>) {
  // expected-error @+1 {{expects the number of query heads H to be a multiple of the key/value heads G, but got 6 and 5}}
  %0 = tfm.mix %p, %v : (tensor<2x6x3x5xf32>, tensor<2x5x5x8xf32>) -> tensor<2x6x3x8xf32>
  return
}

// -----

// attention-c1
func.func @attention_batch(%q: tensor<2x6x3x8xf32>, %k: tensor<2x2x5x8xf32>, %v: tensor<1x2x5x8xf32>) {
  // expected-error @+1 {{expects key and value to have equal batch B, but got 2 and 1}}
  %0 = tfm.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<2x6x3x8xf32>, tensor<2x2x5x8xf32>, tensor<1x2x5x8xf32>) -> tensor<2x6x3x8xf32>
  return
}

// -----

// attention-c2
func.func @attention_head_size(%q: tensor<2x6x3x8xf32>, %k: tensor<2x2x5x4xf32>, %v: tensor<2x2x5x8xf32>) {
  // expected-error @+1 {{expects query and key to have equal head size D, but got 8 and 4}}
  %0 = tfm.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<2x6x3x8xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x8xf32>) -> tensor<2x6x3x8xf32>
  return
}

// -----

// attention-c3
func.func @attention_length(%q: tensor<2x6x3x8xf32>, %k: tensor<2x2x12x8xf32>, %v: tensor<2x2x10x8xf32>) {
  // expected-error @+1 {{expects key and value to have equal length T, but got 12 and 10}}
  %0 = tfm.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<2x6x3x8xf32>, tensor<2x2x12x8xf32>, tensor<2x2x10x8xf32>) -> tensor<2x6x3x8xf32>
  return
}

// -----

// attention-c4
func.func @attention_value_heads(%q: tensor<2x6x3x8xf32>, %k: tensor<2x2x5x8xf32>, %v: tensor<2x3x5x8xf32>) {
  // expected-error @+1 {{expects key and value to have equal number of heads G, but got 2 and 3}}
  %0 = tfm.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<2x6x3x8xf32>, tensor<2x2x5x8xf32>, tensor<2x3x5x8xf32>) -> tensor<2x6x3x8xf32>
  return
}

// -----

// attention-c5
func.func @attention_groups(%q: tensor<2x6x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>) {
  // expected-error @+1 {{expects the number of query heads H to be a multiple of the key/value heads G, but got 6 and 4}}
  %0 = tfm.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<2x6x3x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>) -> tensor<2x6x3x8xf32>
  return
}

// -----

// attention-c6
func.func @attention_mask(%q: tensor<2x6x3x8xf32>, %k: tensor<2x2x5x8xf32>, %v: tensor<2x2x5x8xf32>, %m: tensor<2x2x1x5xi1>) {
  // expected-error @+1 {{expects the mask's H to be 1 or that of the scores, but got 2 and 6}}
  %0 = tfm.attention %q, %k, %v mask %m {scale = 1.0 : f32} : (tensor<2x6x3x8xf32>, tensor<2x2x5x8xf32>, tensor<2x2x5x8xf32>, tensor<2x2x1x5xi1>) -> tensor<2x6x3x8xf32>
  return
}

// -----

// attention-c7
func.func @attention_bias(%q: tensor<2x6x3x8xf32>, %k: tensor<2x2x5x8xf32>, %v: tensor<2x2x5x8xf32>, %b: tensor<2x1x1x4xf32>) {
  // expected-error @+1 {{expects the bias's T to be 1 or that of the scores, but got 4 and 5}}
  %0 = tfm.attention %q, %k, %v bias %b {scale = 1.0 : f32} : (tensor<2x6x3x8xf32>, tensor<2x2x5x8xf32>, tensor<2x2x5x8xf32>, tensor<2x1x1x4xf32>) -> tensor<2x6x3x8xf32>
  return
}

// -----

// An attribute is honoured or refused: "causal = false" is no way to say that.
func.func @attention_causal_false(%q: tensor<2x6x3x8xf32>) {
  // expected-error @+1 {{Invalid attribute `causal` in property conversion: false}}
  %0 = "tfm.attention"(%q, %q, %q) <{causal = false, scale = 1.0 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>) -> tensor<2x6x3x8xf32>
  return
}

// -----

// add-bias-c1
func.func @bias_heads(%s: tensor<2x6x3x5xf32>, %b: tensor<1x2x3x5xf32>) {
  // expected-error @+1 {{expects the bias's H to be 1 or that of the scores, but got 2 and 6}}
  %0 = tfm.add_bias %s, %b : tensor<2x6x3x5xf32>, tensor<1x2x3x5xf32>
  return
}

// -----

// repeat-heads-c1
func.func @repeat_overflow(%k: tensor<1x4x1x1xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{expects a number of heads below 2^63, but got 4 times 4611686018427387904}}
  %0 = tfm.repeat_heads %k by 4611686018427387904 : (tensor<1x4x1x1xf32>) -> tensor<1x?x1x1xf32>
  return
}

// -----

// matmul-c1
func.func @matmul_batch(%a: tensor<2x6x3x8xf32>, %b: tensor<1x6x8x5xf32>) {
  // expected-error @+1 {{expects lhs and rhs to have equal batch B, but got 2 and 1}}
  %0 = tfm.matmul %a, %b : (tensor<2x6x3x8xf32>, tensor<1x6x8x5xf32>) -> tensor<2x6x3x5xf32>
  return
}

// -----

// matmul-c2
func.func @matmul_heads(%a: tensor<2x6x3x8xf32>, %b: tensor<2x2x8x5xf32>) {
  // expected-error @+1 {{expects lhs and rhs to have equal number of heads H, but got 6 and 2}}
  %0 = tfm.matmul %a, %b : (tensor<2x6x3x8xf32>, tensor<2x2x8x5xf32>) -> tensor<2x6x3x5xf32>
  return
}

// -----

// matmul-c3
func.func @matmul_inner(%a: tensor<2x6x3x8xf32>, %b: tensor<2x6x5x8xf32>) {
  // expected-error @+1 {{expects lhs and rhs to have equal inner size K, but got 8 and 5}}
  %0 = tfm.matmul %a, %b : (tensor<2x6x3x8xf32>, tensor<2x6x5x8xf32>) -> tensor<2x6x3x8xf32>
  return
}
