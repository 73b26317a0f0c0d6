// RUN: stepwell-opt %s -p "bound-stack{bytes=1024 sequential=true}" | filecheck %s

// Arrays above the limit are views of the scratch, one after the other; small ones stay.

// CHECK-LABEL: @k
// CHECK-SAME: %y: memref<4xf32>, %scratch: memref<?xi8>, %N: index
// CHECK-SAME: scratch = 5376
// CHECK-DAG: %[[A:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[B:.*]] = arith.constant 4032 : index
// CHECK: memref.view %scratch[%[[A]]][] : memref<?xi8> to memref<1001xf32>
// CHECK: memref.view %scratch[%[[B]]][] : memref<?xi8> to memref<8x41xf32>
// CHECK: memref.alloca() : memref<16xf32>
func.func private @k(%x: memref<4xf32>, %y: memref<4xf32>, %N: index)
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N"]>} {
  %c0 = arith.constant 0 : index
  %a = memref.alloca() : memref<1001xf32>
  %b = memref.alloca() : memref<8x41xf32>
  %c = memref.alloca() : memref<16xf32>
  %v = memref.load %x[%c0] : memref<4xf32>
  memref.store %v, %a[%c0] : memref<1001xf32>
  memref.store %v, %b[%c0, %c0] : memref<8x41xf32>
  memref.store %v, %c[%c0] : memref<16xf32>
  func.return
}

// After what the kernel has already, of a size over its symbols.

// CHECK-LABEL: @more
// CHECK-SAME: %s: memref<?xi8>, %N: index
// CHECK-SAME: scratch = "64 * ((4 * N) ceildiv 64) + 4096"
// CHECK: memref.view %s[%{{.*}}][] : memref<?xi8> to memref<1024xf32>
func.func private @more(%x: memref<4xf32>, %y: memref<4xf32>, %s: memref<?xi8>, %N: index)
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, scratch = "4 * N", symbols = ["N"]>} {
  %c0 = arith.constant 0 : index
  %a = memref.alloca() : memref<1024xf32>
  %v = memref.load %x[%c0] : memref<4xf32>
  memref.store %v, %a[%c0] : memref<1024xf32>
  func.return
}
