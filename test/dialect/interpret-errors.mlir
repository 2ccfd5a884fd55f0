// RUN: not tfm-run %s tokens tokens='[[0, 5]]' 2>&1 | FileCheck %s --check-prefix=TOKENS
// RUN: not tfm-run %s lengths q='{"shape": [1, 1, 2, 4]}' k='{"shape": [1, 1, 3, 4]}' v='{"shape": [1, 1, 2, 4]}' 2>&1 | FileCheck %s --check-prefix=LENGTHS
// RUN: not tfm-run %s --context=3 full k='{"shape": [1, 1, 2, 4]}' full k='{"shape": [1, 1, 2, 4]}' 2>&1 | FileCheck %s --check-prefix=FULL
// RUN: not tfm-run %s layer k='{"shape": [1, 1, 2, 4]}' n=1 2>&1 | FileCheck %s --check-prefix=LAYER
// RUN: not tfm-run %s unsupported x='[1]' 2>&1 | FileCheck %s --check-prefix=FOREIGN
// RUN: not tfm-run %s divide n=0 2>&1 | FileCheck %s --check-prefix=DIVIDE
// RUN: not tfm-run %s huge n=1000000000000 2>&1 | FileCheck %s --check-prefix=HUGE
// RUN: not tfm-run %s slice x='[1, 2]' n=3 2>&1 | FileCheck %s --check-prefix=SLICE
// RUN: not tfm-run %s view arena='{"shape": [64]}' n=15 2>&1 | FileCheck %s --check-prefix=VIEW
// RUN: not tfm-run %s forever 2>&1 | FileCheck %s --check-prefix=FOREVER
// RUN: not tfm-run %s missing 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not tfm-run %s declared 2>&1 | FileCheck %s --check-prefix=DECLARED
// RUN: not tfm-run %s nowhere 2>&1 | FileCheck %s --check-prefix=NOWHERE
// RUN: not tfm-run %s divide 2>&1 | FileCheck %s --check-prefix=NOT-GIVEN
// RUN: not tfm-run %s divide n=1 m=2 2>&1 | FileCheck %s --check-prefix=TOO-MANY
// RUN: not tfm-run %s slice x='[[1], [2, 3]]' n=1 2>&1 | FileCheck %s --check-prefix=RAGGED
// RUN: not tfm-run %s slice x='[[1], [2]]' n=1 2>&1 | FileCheck %s --check-prefix=RANK
// What cannot be run is reported where it is, and nothing crashes.

// TOKENS: error: 'tfm.embed' op expects tokens in 0..4, but got 5
func.func @tokens(%tokens: tensor<?x?xi32> {tfm.name = "tokens"}) -> tensor<?x?x2xf32> {
  %table = tensor.empty() : tensor<5x2xf32>
  %0 = tfm.embed %tokens, %table : (tensor<?x?xi32>, tensor<5x2xf32>) -> tensor<?x?x2xf32>
  return %0 : tensor<?x?x2xf32>
}

// LENGTHS: error: 'tfm.attention' op expects key and value to have equal length T, but got 3 and 2
func.func @lengths(%q: tensor<?x1x?x4xf32> {tfm.name = "q"}, %k: tensor<?x1x?x4xf32> {tfm.name = "k"}, %v: tensor<?x1x?x4xf32> {tfm.name = "v"}) -> tensor<?x1x?x4xf32> {
  %0 = tfm.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>) -> tensor<?x1x?x4xf32>
  return %0 : tensor<?x1x?x4xf32>
}

!cache = !tfm.kv_cache<layers = 1, heads = 1, key_size = 4, value_size = 4, f16>

// FULL: error: 'tfm.cache_append' op expects at most 3 positions of a sample, but got 2 and 2 more
func.func @full(%k: tensor<?x1x?x4xf32> {tfm.name = "k"}, %cache: !cache {tfm.name = "cache"}) -> !cache {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %0 = tfm.cache_append %k, %k into %cache[%c0] : tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>, !cache
  %1 = tfm.cache_advance %0 by %c2 : !cache
  return %1 : !cache
}

// LAYER: error: 'tfm.cache_append' op expects a layer in 0..0, but got 1
func.func @layer(%k: tensor<?x1x?x4xf32> {tfm.name = "k"}, %cache: !cache {tfm.name = "cache"}, %n: index {tfm.name = "n"}) -> !cache {
  %0 = tfm.cache_append %k, %k into %cache[%n] : tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>, !cache
  return %0 : !cache
}

// FOREIGN: error: the interpreter does not support 'tensor.insert_slice'
func.func @unsupported(%x: tensor<1xf32> {tfm.name = "x"}) -> tensor<1xf32> {
  %0 = tensor.insert_slice %x into %x[0] [1] [1] : tensor<1xf32> into tensor<1xf32>
  return %0 : tensor<1xf32>
}

// DIVIDE: error: expects a divisor of at least 1, but got 0
// NOT-GIVEN: error: expects a value for n
// TOO-MANY: error: expects no argument m
func.func @divide(%n: index {tfm.name = "n"}) -> index {
  %0 = arith.ceildivsi %n, %n : index
  return %0 : index
}

// HUGE: error: expects a shape that memory can hold, but got [1000000000000, 1000000000000]
func.func @huge(%n: index {tfm.name = "n"}) -> tensor<?x?xf32> {
  %0 = tensor.empty(%n, %n) : tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// SLICE: error: expects a slice inside dimension 0 of size 2, but got 3 from 0 by 1
// RAGGED: error: x: expects lists of equal lengths
// RANK: error: expects a value of type 'tensor<?xf32>', but got 2x1xf32
func.func @slice(%x: tensor<?xf32> {tfm.name = "x"}, %n: index {tfm.name = "n"}) -> tensor<?xf32> {
  %0 = tensor.extract_slice %x[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  return %0 : tensor<?xf32>
}

// VIEW: error: expects a view inside 64 bytes, but got [15] from 8
func.func @view(%arena: memref<?xi8> {tfm.name = "arena"}, %n: index {tfm.name = "n"}) {
  %c8 = arith.constant 8 : index
  %0 = memref.view %arena[%c8][%n] : memref<?xi8> to memref<?xf32>
  return
}

// FOREVER: error: expects calls to nest at most 256 deep
func.func @forever() {
  func.call @forever() : () -> ()
  return
}

// MISSING: error: 'tfm.weight' op cannot read no-such-file: No such file or directory
tfm.weight @w : tensor<2xf32> from #tfm.file<"no-such-file", 0>
func.func @missing() -> tensor<2xf32> {
  %0 = tfm.load @w : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// DECLARED: error: expects a body of @declared
func.func private @declared()

// NOWHERE: error: expects a function @nowhere
