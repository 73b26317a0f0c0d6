// RUN: stepwell-opt %s -p convert-loops-to-llvm | filecheck %s

// A kernel gets three pointers: memrefs come from the first, symbols from the second.
// CHECK-LABEL: llvm.func @k(%args: !llvm.ptr, %dims: !llvm.ptr, %ctx: !llvm.ptr) -> i32
// CHECK-SAME: attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N"]>}
// CHECK: %[[N:.*]] = llvm.load %dims {alignment = 8 : i64} : !llvm.ptr -> i64
// CHECK: %[[X:.*]] = llvm.load %args {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
// CHECK: %[[SLOT:.*]] = llvm.getelementptr inbounds %args[1]
// CHECK: %[[Y:.*]] = llvm.load %[[SLOT]] {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
// CHECK: %[[OK:.*]] = llvm.mlir.constant(0 : i32) : i32
// CHECK: llvm.return %[[OK]] : i32
func.func private @k(%x: memref<?xf32> {graph.dims = #graph.dims<["N"]>}, %y: memref<4xi64>, %N: index) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N"]>} {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%N] : memref<?xf32>
  %n = arith.index_cast %N : index to i64
  memref.store %n, %y[%c0] : memref<4xi64>
  memref.store %v, %x[%c0] : memref<?xf32>
  func.return
}

// @main calls kernels with arrays of pointers and sizes on the stack, and passes a failure on.
// CHECK-LABEL: llvm.func @main(
// CHECK: llvm.alloca %{{.*}} x !llvm.array<1 x i64> {alignment = 8 : i64}
// CHECK: llvm.alloca %{{.*}} x !llvm.array<2 x !llvm.ptr> {alignment = 8 : i64}
// CHECK: %[[STATUS:.*]] = llvm.call @k(%{{.*}}, %{{.*}}, %[[CTX:.*]]) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// CHECK: %[[OK:.*]] = llvm.icmp "eq" %[[STATUS]], %{{.*}} : i32
// CHECK: llvm.cond_br %[[OK]], ^{{.*}}, ^[[FAILED:.*]](%[[STATUS]] : i32)
// The weight's pointer is the second of the context's table.
// CHECK: %[[FIELD:.*]] = llvm.getelementptr inbounds %[[CTX]][4]
// CHECK: %[[TABLE:.*]] = llvm.load %[[FIELD]]
// CHECK: llvm.getelementptr inbounds %[[TABLE]][1]
// CHECK: ^[[FAILED]](%[[ARG:.*]]: i32):
// CHECK-NEXT: llvm.return %[[ARG]] : i32
func.func @main(%x: memref<?xf32> {graph.dims = #graph.dims<["N"]>}, %arena: memref<?xi8>, %N: index)
    attributes {sched.program = #sched.program<inputs = 1, outputs = 0, symbols = ["N"], arena = "64", slots = 0>} {
  %c0 = arith.constant 0 : index
  %y = memref.view %arena[%c0][] : memref<?xi8> to memref<4xi64>
  func.call @k(%x, %y, %N) : (memref<?xf32>, memref<4xi64>, index) -> ()
  %w = memref.get_global @w1 : memref<4xi64>
  func.call @k(%x, %w, %N) : (memref<?xf32>, memref<4xi64>, index) -> ()
  func.return
}
"memref.global"() <{sym_name = "w0", type = memref<4xf32>, sym_visibility = "private", initial_value}> : () -> ()
"memref.global"() <{sym_name = "w1", type = memref<4xi64>, sym_visibility = "private", initial_value}> : () -> ()
// CHECK-NOT: memref.global

// Other functions keep their arguments.
// CHECK-LABEL: llvm.func internal @plain(%m: !llvm.ptr, %i: i64) -> f32
// CHECK: llvm.return %{{.*}} : f32
func.func private @plain(%m: memref<4x8xf32>, %i: index) -> f32 {
  %v = memref.load %m[%i, %i] : memref<4x8xf32>
  func.return %v : f32
}
