// RUN: stepwell-opt %s -p convert-loops-to-llvm | filecheck %s

// CHECK-LABEL: @subview
// CHECK: %[[R:.*]] = llvm.getelementptr inbounds %m[%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK: %[[V:.*]] = llvm.getelementptr inbounds %[[R]][16] : (!llvm.ptr) -> !llvm.ptr, f32
// Row 1 of every second row of 64: 128 elements on.
// CHECK: llvm.getelementptr inbounds %[[V]][131] : (!llvm.ptr) -> !llvm.ptr, f32
func.func @subview(%m: memref<16x64xf32>, %i: index) -> f32 {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %v = memref.subview %m[%i, 16] [4, 16] [2, 1] : memref<16x64xf32> to memref<4x16xf32, strided<[128, 1], offset: ?>>
  %x = memref.load %v[%c1, %c3] : memref<4x16xf32, strided<[128, 1], offset: ?>>
  func.return %x : f32
}

// A dimension of size 1 is dropped.
// CHECK-LABEL: @dropped
// CHECK: %[[V:.*]] = llvm.getelementptr inbounds %mb[192] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK: llvm.getelementptr inbounds %[[V]][%j] : (!llvm.ptr, i64) -> !llvm.ptr, f32
func.func @dropped(%mb: memref<16x64xf32>, %j: index) -> f32 {
  %v = memref.subview %mb[3, 0] [1, 64] [1, 1] : memref<16x64xf32> to memref<64xf32, strided<[1], offset: 192>>
  %x = memref.load %v[%j] : memref<64xf32, strided<[1], offset: 192>>
  func.return %x : f32
}

// Sizes that only the caller knows come from the symbols.
// CHECK-LABEL: @dim
// CHECK: %[[N:.*]] = llvm.load %dims
// CHECK: %[[TWICE:.*]] = llvm.mul %[[N]], %{{.*}} : i64
// CHECK: llvm.store %[[TWICE]], %{{.*}} : i64, !llvm.ptr
func.func private @dim(%mc: memref<?x4xindex> {graph.dims = #graph.dims<["2 * N", 4]>}, %N: index) attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 1, symbols = ["N"]>} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %mc, %c0 : memref<?x4xindex>
  memref.store %n, %mc[%c0, %c0] : memref<?x4xindex>
  func.return
}

// CHECK-LABEL: @shapes
// CHECK: llvm.getelementptr inbounds %{{.*}}[13] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK: llvm.getelementptr inbounds %{{.*}}[23] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK: %[[R:.*]] = llvm.getelementptr inbounds %md[4] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK: llvm.getelementptr inbounds %[[R]][8] : (!llvm.ptr) -> !llvm.ptr, f32
func.func @shapes(%md: memref<2x3x4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %a = memref.collapse_shape %md [[0 : i64, 1 : i64], [2 : i64]] : memref<2x3x4xf32> into memref<6x4xf32>
  %x = memref.load %a[%c3, %c1] : memref<6x4xf32>
  %b = memref.expand_shape %a [[0 : i64], [1 : i64, 2 : i64]] output_shape [6, 2, 2] : memref<6x4xf32> into memref<6x2x2xf32>
  %c5 = arith.constant 5 : index
  %y = memref.load %b[%c5, %c1, %c1] : memref<6x2x2xf32>
  %r = memref.reinterpret_cast %md to offset: [4], sizes: [2, 2], strides: [8, 1] : memref<2x3x4xf32> to memref<2x2xf32, strided<[8, 1], offset: 4>>
  %z = memref.load %r[%c1, %c0] : memref<2x2xf32, strided<[8, 1], offset: 4>>
  %s = arith.addf %x, %y : f32
  %t = arith.addf %s, %z : f32
  func.return %t : f32
}

// No element, or one along a dimension: its stride says nothing, and a kernel may take the memref as dense.
// CHECK-LABEL: llvm.func @main
// CHECK: llvm.call @empty
// CHECK: llvm.call @single
func.func private @empty(%a: memref<2x0x4xf32>) attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 1>} {
  func.return
}
func.func private @single(%a: memref<1x3xf32>) attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 1>} {
  func.return
}
func.func @main(%x: memref<2x0x4xf32>, %y: memref<2x3xf32>, %arena: memref<?xi8>)
    attributes {sched.program = #sched.program<inputs = 2, outputs = 0, arena = "0", slots = 0>} {
  %e = memref.reinterpret_cast %x to offset: [0], sizes: [2, 0, 4], strides: [16, 4, 1] : memref<2x0x4xf32> to memref<2x0x4xf32>
  func.call @empty(%e) : (memref<2x0x4xf32>) -> ()
  %s = memref.reinterpret_cast %y to offset: [0], sizes: [1, 3], strides: [9, 1] : memref<2x3xf32> to memref<1x3xf32>
  func.call @single(%s) : (memref<1x3xf32>) -> ()
  func.return
}
