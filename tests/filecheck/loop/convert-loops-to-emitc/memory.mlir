// RUN: stepwell-opt %s -p convert-loops-to-emitc | filecheck %s

// Bytes that are viewed as another type are aligned for it.

// CHECK-LABEL: emitc.func @bytes
// CHECK: %[[L:.*]] = emitc.variable : !emitc.array<3xi64>
// CHECK-NEXT: %[[B:.*]] = emitc.cast %[[L]] : !emitc.array<3xi64> to !emitc.ptr<ui8>
// CHECK: emitc.add %{{.*}}, %{{.*}} : (!emitc.ptr<ui8>, index) -> !emitc.ptr<ui8>
// CHECK: emitc.cast %{{.*}} : !emitc.ptr<ui8> to !emitc.ptr<f32>
func.func private @bytes(%x: memref<4xf32>, %y: memref<4xf32>)
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %a = memref.alloca() : memref<20xi8>
  %b = memref.view %a[%c4][] : memref<20xi8> to memref<4xf32>
  "memref.copy"(%x, %b) : (memref<4xf32>, memref<4xf32>) -> ()
  "memref.copy"(%b, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}

// A subview is a pointer with the strides of its source; dimensions of 1 are dropped.

// CHECK-LABEL: emitc.func @part
// CHECK: %[[P:.*]] = emitc.add %x, %{{.*}} : (!emitc.ptr<f32>, index) -> !emitc.ptr<f32>
// CHECK: emitc.subscript %[[P]][%{{.*}}]
func.func private @part(%x: memref<4x8xf32>, %y: memref<4xf32>)
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c2 = arith.constant 2 : index
  %v = memref.subview %x[1, 3] [1, 4] [1, 1] : memref<4x8xf32> to memref<4xf32, strided<[1], offset: 11>>
  %a = memref.load %v[%c2] : memref<4xf32, strided<[1], offset: 11>>
  memref.store %a, %y[%c2] : memref<4xf32>
  func.return
}

// A copy into a part with gaps is a loop for each dimension; into a whole of open sizes it is one loop.

// CHECK-LABEL: emitc.func @gaps
// CHECK: emitc.for
// CHECK: emitc.for
// CHECK-LABEL: emitc.func @whole
// CHECK: emitc.for
// CHECK-NOT: emitc.for
func.func private @gaps(%x: memref<2x?xf32> {graph.dims = #graph.dims<[2, "n"]>},
    %y: memref<2x?xf32> {graph.dims = #graph.dims<[2, "m"]>}, %n: index, %m: index)
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["n", "m"]>} {
  %v = memref.reinterpret_cast %y to offset: [%n], sizes: [2, %n], strides: [%m, 1]
    : memref<2x?xf32> to memref<2x?xf32, strided<[?, 1], offset: ?>>
  "memref.copy"(%x, %v) : (memref<2x?xf32>, memref<2x?xf32, strided<[?, 1], offset: ?>>) -> ()
  func.return
}

func.func private @whole(%x: memref<2x?x4xf32> {graph.dims = #graph.dims<[2, "n", 4]>},
    %y: memref<2x?x4xf32> {graph.dims = #graph.dims<[2, "n", 4]>}, %n: index)
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["n"]>} {
  %c4 = arith.constant 4 : index
  %s = arith.muli %n, %c4 : index
  %v = memref.reinterpret_cast %y to offset: [0], sizes: [2, %n, 4], strides: [%s, 4, 1]
    : memref<2x?x4xf32> to memref<2x?x4xf32, strided<[?, 4, 1]>>
  "memref.copy"(%x, %v) : (memref<2x?x4xf32>, memref<2x?x4xf32, strided<[?, 4, 1]>>) -> ()
  func.return
}
