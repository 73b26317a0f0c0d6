// RUN: stepwell-opt %s | filecheck %s
// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s -p convert-loops-to-llvm | filecheck %s --check-prefix LLVM

// The fields come in any order; what is empty is left out. On level 4 the function keeps the attribute.
// CHECK: func.func @main(
// CHECK-SAME: {sched.program = #sched.program<inputs = 1, outputs = 1, symbols = ["N"], published = ["data_0"], arena = "64 * N", slots = 2>}
// LLVM: llvm.func @main(%args: !llvm.ptr, %dims: !llvm.ptr, %ctx: !llvm.ptr) -> i32
// LLVM-SAME: sched.program = #sched.program<inputs = 1, outputs = 1,
func.func @main(%x: memref<?xf32> {graph.dims = #graph.dims<["N"]>}, %y: memref<?xi8>, %arena: memref<?xi8>, %N: index)
    attributes {sched.program = #sched.program<slots = 2, arena = "64 * N", published = ["data_0"], symbols = ["N"],
                                               outputs = 1, inputs = 1>} {
  %m = sched.allocate slot 1, %N : memref<?xi8>
  sched.publish %N at 1
  func.return
}

// A sum that is too long for one text is a list of its summands.
// CHECK: func.func @summands(
// CHECK-SAME: arena = ["64 * N", "64 * M + 128"]
func.func @summands(%x: memref<?x?xf32> {graph.dims = #graph.dims<["N", "M"]>}, %arena: memref<?xi8>, %N: index, %M: index)
    attributes {sched.program = #sched.program<inputs = 1, outputs = 0, symbols = ["N", "M"],
                                               arena = ["64 * N", "64 * M + 128"], slots = 0>} {
  func.return
}
