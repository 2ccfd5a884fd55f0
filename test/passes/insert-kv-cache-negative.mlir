// RUN: tfm-opt %s -tfm-insert-kv-cache -split-input-file -verify-diagnostics | FileCheck %s --implicit-check-not=kv_cache
// Each part of the criterion: a @forward that breaks it is left as it is.

// CHECK: func.func @forward
// expected-remark @+1 {{no key/value cache: there is no attention}}
func.func @forward(%tokens: tensor<?x?xi32>) -> tensor<?x?x8xf32> {
  %w = tfm.load @w : tensor<8x8xf32>
  %x = tfm.embed %tokens, %w : (tensor<?x?xi32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
  return %x : tensor<?x?x8xf32>
}
tfm.weight @w : tensor<8x8xf32> from dense<1.0> : tensor<8x8xf32>

// -----

// CHECK: func.func @forward
// expected-remark @+1 {{no key/value cache: expects tokens [B, S] of any S as the only input}}
func.func @forward(%tokens: tensor<?x3xi32>) -> tensor<?x3x8xf32> {
  %w = tfm.load @w : tensor<8x8xf32>
  %x = tfm.embed %tokens, %w : (tensor<?x3xi32>, tensor<8x8xf32>) -> tensor<?x3x8xf32>
  return %x : tensor<?x3x8xf32>
}
tfm.weight @w : tensor<8x8xf32> from dense<1.0> : tensor<8x8xf32>

// -----

// CHECK: func.func @forward
// expected-remark @+1 {{no key/value cache: expects tokens [B, S] of any S as the only input}}
func.func @forward(%tokens: tensor<?x?xi32>, %x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  return %x : tensor<?x?x8xf32>
}

// -----

// CHECK: func.func @forward
// expected-remark @+1 {{no key/value cache: expects logits [B, S, V] of a known V as the only result}}
func.func @forward(%tokens: tensor<?x?xi32>) -> tensor<?x?xi32> {
  return %tokens : tensor<?x?xi32>
}

// -----

// CHECK: func.func private @forward
// expected-remark @+1 {{no key/value cache: expects one block}}
func.func private @forward(tensor<?x?xi32>) -> tensor<?x?x8xf32>

// -----

// CHECK: func.func @forward
// expected-remark @+1 {{no key/value cache: @forward is used by others}}
func.func @forward(%tokens: tensor<?x?xi32>) -> tensor<?x?xi32> {
  return %tokens : tensor<?x?xi32>
}
func.func @caller(%tokens: tensor<?x?xi32>) -> tensor<?x?xi32> {
  %0 = call @forward(%tokens) : (tensor<?x?xi32>) -> tensor<?x?xi32>
  return %0 : tensor<?x?xi32>
}

// -----

// CHECK: func.func @forward
// expected-remark @+1 {{no key/value cache: there is a @decode already}}
func.func @forward(%tokens: tensor<?x?xi32>) -> tensor<?x?xi32> {
  return %tokens : tensor<?x?xi32>
}
// expected-note @+1 {{see here}}
func.func @decode() {
  return
}

// -----

// Not causal: a later token would change what is cached.
// CHECK: func.func @forward
// expected-remark @+1 {{no key/value cache: expects causal attention without a mask or a bias}}
func.func @forward(%tokens: tensor<?x?xi32>) -> tensor<?x?x8xf32> {
  %w = tfm.load @w : tensor<8x8xf32>
  %x = tfm.embed %tokens, %w : (tensor<?x?xi32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
  %h = tfm.split_heads %x into 2 : (tensor<?x?x8xf32>) -> tensor<?x2x?x4xf32>
  // expected-note @+1 {{see here}}
  %o = tfm.attention %h, %h, %h {scale = 0.5 : f32} : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32>
  %y = tfm.merge_heads %o : (tensor<?x2x?x4xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}
tfm.weight @w : tensor<8x8xf32> from dense<1.0> : tensor<8x8xf32>

// -----

// CHECK: func.func @forward
// expected-remark @+1 {{no key/value cache: expects causal attention without a mask or a bias}}
func.func @forward(%tokens: tensor<?x?xi32>) -> tensor<?x?x8xf32> {
  %w = tfm.load @w : tensor<8x8xf32>
  %x = tfm.embed %tokens, %w : (tensor<?x?xi32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
  %h = tfm.split_heads %x into 2 : (tensor<?x?x8xf32>) -> tensor<?x2x?x4xf32>
  // expected-note @+1 {{see here}}
  %o = tfm.attention %h, %h, %h bias %h causal {scale = 0.5 : f32} : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32>
  %y = tfm.merge_heads %o : (tensor<?x2x?x4xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}
tfm.weight @w : tensor<8x8xf32> from dense<1.0> : tensor<8x8xf32>

// -----

// Two layers with different heads.
// CHECK: func.func @forward
// expected-remark @+1 {{no key/value cache: expects known and equal heads and head sizes in all layers}}
func.func @forward(%tokens: tensor<?x?xi32>) -> tensor<?x?x8xf32> {
  %w = tfm.load @w : tensor<8x8xf32>
  %x = tfm.embed %tokens, %w : (tensor<?x?xi32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
  %h = tfm.split_heads %x into 2 : (tensor<?x?x8xf32>) -> tensor<?x2x?x4xf32>
  %o = tfm.attention %h, %h, %h causal {scale = 0.5 : f32} : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32>
  %y = tfm.merge_heads %o : (tensor<?x2x?x4xf32>) -> tensor<?x?x8xf32>
  %i = tfm.split_heads %y into 4 : (tensor<?x?x8xf32>) -> tensor<?x4x?x2xf32>
  // expected-note @+1 {{see here}}
  %p = tfm.attention %i, %i, %i causal {scale = 0.5 : f32} : (tensor<?x4x?x2xf32>, tensor<?x4x?x2xf32>, tensor<?x4x?x2xf32>) -> tensor<?x4x?x2xf32>
  %z = tfm.merge_heads %p : (tensor<?x4x?x2xf32>) -> tensor<?x?x8xf32>
  return %z : tensor<?x?x8xf32>
}
tfm.weight @w : tensor<8x8xf32> from dense<1.0> : tensor<8x8xf32>

// -----

// A softmax over what is not positions would do; nobody knows that here.
// CHECK: func.func @forward
// expected-remark @+1 {{no key/value cache: expects work on each position for itself, but got tfm.softmax}}
func.func @forward(%tokens: tensor<?x?xi32>) -> tensor<?x?x8xf32> {
  %w = tfm.load @w : tensor<8x8xf32>
  %x = tfm.embed %tokens, %w : (tensor<?x?xi32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
  // expected-note @+1 {{see here}}
  %y = tfm.softmax %x : tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}
tfm.weight @w : tensor<8x8xf32> from dense<1.0> : tensor<8x8xf32>

// -----

// A table of rows stands for positions 0..2, wherever the step begins.
// CHECK: func.func @forward
// expected-remark @+1 {{no key/value cache: expects work on each position for itself, but got tfm.load}}
func.func @forward(%tokens: tensor<?x?xi32>) -> tensor<?x?x8xf32> {
  %w = tfm.load @w : tensor<8x8xf32>
  %x = tfm.embed %tokens, %w : (tensor<?x?xi32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
  // expected-note @+1 {{see here}}
  %p = tfm.load @positions : tensor<1x3x8xf32>
  return %x : tensor<?x?x8xf32>
}
tfm.weight @w : tensor<8x8xf32> from dense<1.0> : tensor<8x8xf32>
tfm.weight @positions : tensor<1x3x8xf32> from dense<1.0> : tensor<1x3x8xf32>

// -----

// CHECK: func.func @forward
// expected-remark @+1 {{no key/value cache: expects positions that start at 0}}
func.func @forward(%tokens: tensor<?x?xi32>) -> tensor<?x?x8xf32> {
  %w = tfm.load @w : tensor<8x8xf32>
  %n = tfm.load @n : tensor<1xi32>
  %x = tfm.embed %tokens, %w : (tensor<?x?xi32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
  %h = tfm.split_heads %x into 2 : (tensor<?x?x8xf32>) -> tensor<?x2x?x4xf32>
  // expected-note @+1 {{see here}}
  %r = tfm.rope %h at %n half {dims = 4 : i64, theta = 1.0e4 : f64} : tensor<?x2x?x4xf32>, tensor<1xi32>
  %y = tfm.merge_heads %r : (tensor<?x2x?x4xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}
tfm.weight @w : tensor<8x8xf32> from dense<1.0> : tensor<8x8xf32>
tfm.weight @n : tensor<1xi32> from dense<1> : tensor<1xi32>

// -----

// A module without @forward says nothing.
// CHECK: func.func @other
func.func @other() {
  return
}
