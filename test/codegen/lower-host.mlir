// RUN: tfm-opt %s --tfm-lower-host | FileCheck %s
// A planned function becomes calls of one launcher, numbered from 0, which
// claims tiles, calls the kernel from the table, and notes what fails.

tfm.kernel @twice(%x: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %y = tfm.add %x, %x : tensor<?x32xf32>
  tfm.yield %y : tensor<?x32xf32>
}

// CHECK-NOT: tfm.kernel
// CHECK-LABEL: llvm.func internal @f(
// CHECK-SAME: %[[WORKER:.*]]: !llvm.ptr, %[[CALL:.*]]: !llvm.ptr) -> i32
// CHECK: %[[FIRST:.*]] = llvm.mlir.constant(0 : i64)
// CHECK-NEXT: llvm.call @launch.twice.0(%[[WORKER]], %[[CALL]], %[[FIRST]],
// CHECK: %[[SECOND:.*]] = llvm.mlir.constant(1 : i64)
// CHECK-NEXT: llvm.call @launch.twice.0(%[[WORKER]], %[[CALL]], %[[SECOND]],
// CHECK: llvm.return %{{.*}} : i32
func.func @f(%x: memref<?x32xf32>, %y: memref<?x32xf32>, %arena: memref<?xi8>) {
  tfm.launch @twice(%x) outs(%y) tile [4] : (memref<?x32xf32>) outs(memref<?x32xf32>)
  tfm.launch @twice(%x) outs(%y) tile [4] : (memref<?x32xf32>) outs(memref<?x32xf32>)
  return
}

// CHECK: llvm.func @tfm_next_tile(!llvm.ptr, i64, i32) -> i32
// CHECK-LABEL: llvm.func internal @launch.twice.0
// CHECK: llvm.call @tfm_kernel_context
// CHECK: %[[TILE:.*]] = llvm.call @tfm_next_tile
// CHECK: llvm.icmp "slt" %[[TILE]]
// CHECK: %[[ERROR:.*]] = llvm.call %{{.*}}({{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// CHECK: llvm.icmp "ne" %[[ERROR]]
// CHECK: llvm.call @tfm_fail(%{{.*}}, %[[ERROR]])
// CHECK-NOT: llvm.func internal @launch
