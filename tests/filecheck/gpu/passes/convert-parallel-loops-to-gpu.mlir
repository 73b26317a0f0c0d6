// RUN: stepwell-opt %s -p convert-parallel-loops-to-gpu | filecheck %s
// RUN: stepwell-opt %s -p convert-parallel-loops-to-gpu,gpu-kernel-outlining | filecheck %s --check-prefix=OUTLINED

// Blocks along y and threads along x; the threads count from 8 in steps of 2.

// CHECK-LABEL: func.func @f
// CHECK: gpu.launch blocks(%{{.*}}, %[[BY:.*]], %{{.*}}) in (%{{.*}} = %[[ONE:.*]], %{{.*}} = %n, %{{.*}} = %[[ONE]]) threads(%[[TX:.*]], %{{.*}}, %{{.*}}) in (%{{.*}} = %[[COUNT:.*]], %{{.*}} = %[[ONE]], %{{.*}} = %[[ONE]]) {
// CHECK: %[[SCALED:.*]] = arith.muli %[[TX]], %c2 : index
// CHECK: %[[I:.*]] = arith.addi %[[SCALED]], %c8 : index
// CHECK: memref.store %v, %x[%[[BY]], %[[I]]]
// CHECK: gpu.terminator

// Constants are inside of the kernel again, and the buffer and the size are arguments.

// OUTLINED: builtin.module attributes {gpu.container_module}
// OUTLINED: gpu.module @f_kernel {
// OUTLINED: gpu.func @f_kernel(%x: memref<?x40xf32>) kernel {
// OUTLINED-DAG: arith.constant 2 : index
// OUTLINED-DAG: %{{.*}} = gpu.block_id y
// OUTLINED-DAG: %{{.*}} = gpu.thread_id x
// OUTLINED: memref.store
// OUTLINED: gpu.return
// OUTLINED: func.func @f(%x: memref<?x40xf32>, %n: index) {
// OUTLINED: gpu.launch_func @f_kernel::@f_kernel blocks in (%[[ONE:.*]], %n, %[[ONE]]) threads in (%{{.*}}, %[[ONE]], %[[ONE]]) args(%x : memref<?x40xf32>)
func.func @f(%x: memref<?x40xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c40 = arith.constant 40 : index
  %v = arith.constant 1.0 : f32
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%b: index):
    "scf.parallel"(%c8, %c40, %c2) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%t: index):
      memref.store %v, %x[%b, %t] : memref<?x40xf32>
      scf.reduce
    }) {gpu.mapping = [#gpu.loop_dim_map<processor = thread_x, map = (d0) -> (d0), bound = (d0) -> (d0)>]} : (index, index, index) -> ()
    scf.reduce
  }) {gpu.mapping = [#gpu.loop_dim_map<processor = block_y, map = (d0) -> (d0), bound = (d0) -> (d0)>]} : (index, index, index) -> ()
  func.return
}
