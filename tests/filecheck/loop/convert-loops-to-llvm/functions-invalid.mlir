// RUN: stepwell-opt %s -p convert-loops-to-llvm --split-input-file --verify-diagnostics

// expected-error: expected buffers of 0 inputs and 0 outputs, then the arena of type memref<?xi8>, found f32
func.func @scalar(%x: f32) attributes {sched.program = #sched.program<inputs = 0, outputs = 0, arena = "0", slots = 0>} {
  func.return
}
// -----
// expected-error: the last arguments must be of type index, one for each of the symbols ['N', 'M'], found 1
func.func @symbols(%N: index) attributes {sched.program = #sched.program<symbols = ["N", "M"]>} {
  func.return
}
// -----
// expected-error: the size of an inner dimension is not known here
func.func @unnamed(%x: memref<4x?xf32>, %y: memref<1xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %0 = memref.load %x[%c0, %c0] : memref<4x?xf32>
  memref.store %0, %y[%c0] : memref<1xf32>
  func.return
}
// -----
// expected-error: kernels take dense memrefs only
func.func @strided(%x: memref<4xf32, strided<[2]>>) attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 1>} {
  func.return
}
// -----
// expected-error: @two returns 2 values, not one
func.func @two() -> (f32, f32) {
  %x = arith.constant 0.0 : f32
  func.return %x, %x : f32, f32
}
// -----
func.func private @k(%x: memref<2x4xf32, strided<[8, 1]>>) attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 1>}
func.func @main(%x: memref<2x8xf32>, %arena: memref<?xi8>)
    attributes {sched.program = #sched.program<inputs = 1, outputs = 0, arena = "0", slots = 0>} {
  %v = memref.subview %x[0, 0] [2, 4] [1, 1] : memref<2x8xf32> to memref<2x4xf32, strided<[8, 1]>>
  // expected-error: kernel @k takes dense memrefs, found a view
  func.call @k(%v) : (memref<2x4xf32, strided<[8, 1]>>) -> ()
  func.return
}
// -----
func.func private @k(%x: memref<4xf32>) attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 1>} {
  func.return
}
func.func @plain(%x: memref<4xf32>) {
  // expected-error: kernel @k is called where no status can be returned
  func.call @k(%x) : (memref<4xf32>) -> ()
  func.return
}
