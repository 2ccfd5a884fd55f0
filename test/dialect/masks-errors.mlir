// RUN: tfm-opt %s -split-input-file -verify-diagnostics
// The rules of masks and of dropout.

// mask-and-c1
func.func @masks_of_other_lengths(%a: tensor<1x1x3x5xi1>, %b: tensor<2x1x1x4xi1>) {
  // expected-error @+1 {{expects lhs and rhs to have equal T, or 1 in one of them, but got 5 and 4}}
  %0 = tfm.mask_and %a, %b : (tensor<1x1x3x5xi1>, tensor<2x1x1x4xi1>) -> tensor<2x1x3x5xi1>
  return
}

// -----

func.func @mask_of_fewer_rows(%a: tensor<1x1x3x5xi1>, %b: tensor<2x1x1x5xi1>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{inferred type(s) 'tensor<2x1x3x5xi1>' are incompatible with return type(s) of operation 'tensor<2x1x1x5xi1>'}}
  %0 = tfm.mask_and %a, %b : (tensor<1x1x3x5xi1>, tensor<2x1x1x5xi1>) -> tensor<2x1x1x5xi1>
  return
}

// -----

func.func @no_window(%n: index) {
  // expected-error @+1 {{attribute 'window' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %0 = tfm.window_mask %n by %n of 0 : tensor<1x1x?x?xi1>
  return
}

// -----

func.func @numbers(%x: tensor<1x1x3x5xf32>) {
  // expected-error @+1 {{operand #0 must be 4D tensor of 1-bit signless integer values, but got 'tensor<1x1x3x5xf32>'}}
  %0 = "tfm.mask_not"(%x) : (tensor<1x1x3x5xf32>) -> tensor<1x1x3x5xf32>
  return
}

// -----

// dropout-c1
func.func @drops_everything(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{expects a rate of at least 0 and less than 1, but got 1}}
  %0 = tfm.dropout %x at 1.0 : tensor<?x8xf32>
  return
}
