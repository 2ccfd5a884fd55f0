// RUN: tfm-opt %s --tfm-outline-kernels -verify-diagnostics
// What cannot be the result of a launch.

// Either mask may have the one row that broadcasts.
func.func @rows(%a: tensor<1x1x?x1xi1>, %b: tensor<1x1x?x1xi1>) -> tensor<1x1x?x1xi1> {
  // expected-error @+1 {{expects a dimension 2 that is known, or that of one of its operands}}
  %0 = tfm.mask_and %a, %b : (tensor<1x1x?x1xi1>, tensor<1x1x?x1xi1>) -> tensor<1x1x?x1xi1>
  return %0 : tensor<1x1x?x1xi1>
}
