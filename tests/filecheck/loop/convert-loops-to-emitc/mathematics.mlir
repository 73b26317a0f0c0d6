// RUN: stepwell-opt %s -p convert-loops-to-emitc | filecheck %s

// Functions of math.h are functions of the file; those of 16 bits are computed in f32.
// CHECK-LABEL: emitc.func @k
// CHECK: emitc.call_opaque "f64_cbrt"(%{{.*}}) : (f64) -> f64
// CHECK: emitc.call_opaque "f64_atan2"(%{{.*}}, %{{.*}}) : (f64, f64) -> f64
// CHECK: emitc.call_opaque "f32_sin"(%{{.*}}) : (f32) -> f32
func.func private @k(%x: memref<1xf64>, %z: memref<1xf32>, %y: memref<1xf64>)
    attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %a = memref.load %x[%c0] : memref<1xf64>
  %b = math.cbrt %a : f64
  %d = math.atan2 %a, %b : f64
  memref.store %d, %y[%c0] : memref<1xf64>
  %e = memref.load %z[%c0] : memref<1xf32>
  %s = math.sin %e : f32
  memref.store %s, %z[%c0] : memref<1xf32>
  func.return
}
