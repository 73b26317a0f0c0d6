// RUN: stepwell-opt %s -p npu-double-buffer | filecheck %s

// The second tile of inputs and sums is elsewhere, the third is where the first was. The weights are in use all
// the time, and stay; so does the number that is loaded once.
// CHECK-LABEL: npu.program @tiles
npu.program @tiles(%x: memref<12x1x16xi8>, %w: memref<1x16x16xi8>, %p: memref<1x1x16xi32>, %y: memref<12x1x16xi8>) config "pynq" {
  %w0 = npu.load wgt %w[0] to 0 size [1, 1] stride 1 : memref<1x16x16xi8>
  // CHECK: npu.load acc %p[0] to 5
  %p0 = npu.load acc %p[0] to 5 size [1, 1] stride 1 : memref<1x1x16xi32>
  // CHECK-NEXT: npu.load inp %x[0] to 0
  // CHECK-NEXT: npu.gemm reset uops [(0, 0, 0)]
  // CHECK-NEXT: npu.gemm uops [(0, 0, 0)]
  // CHECK-NEXT: npu.alu add uops [(0, 5, 0)]
  // CHECK-NEXT: npu.store %y[0] from 0
  %a = npu.load inp %x[0] to 0 size [1, 4] stride 4 : memref<12x1x16xi8>
  %b = npu.gemm reset uops [(0, 0, 0)] loops [1, 4] dst [0, 1] src [0, 0] wgt [0, 0]
  %c = npu.gemm uops [(0, 0, 0)] loops [1, 4] dst [0, 1] src [0, 1] wgt [0, 0]
  %d = npu.alu add uops [(0, 5, 0)] loops [1, 4] dst [0, 1] src [0, 0]
  %e = npu.store %y[0] from 0 size [1, 4] stride 4 : memref<12x1x16xi8>
  // CHECK-NEXT: npu.load inp %x[4] to 4
  // CHECK-NEXT: npu.gemm reset uops [(6, 0, 0)]
  // CHECK-NEXT: npu.gemm uops [(6, 4, 0)]
  // CHECK-NEXT: npu.alu add uops [(6, 5, 0)]
  // CHECK-NEXT: npu.store %y[4] from 6
  %g = npu.load inp %x[4] to 0 size [1, 4] stride 4 : memref<12x1x16xi8>
  %h = npu.gemm reset uops [(0, 0, 0)] loops [1, 4] dst [0, 1] src [0, 0] wgt [0, 0]
  %i = npu.gemm uops [(0, 0, 0)] loops [1, 4] dst [0, 1] src [0, 1] wgt [0, 0]
  %j = npu.alu add uops [(0, 5, 0)] loops [1, 4] dst [0, 1] src [0, 0]
  %k = npu.store %y[4] from 0 size [1, 4] stride 4 : memref<12x1x16xi8>
  // CHECK-NEXT: npu.load inp %x[8] to 0
  // CHECK-NEXT: npu.gemm reset uops [(0, 0, 0)]
  // CHECK-NEXT: npu.gemm uops [(0, 0, 0)]
  // CHECK-NEXT: npu.alu add uops [(0, 5, 0)]
  // CHECK-NEXT: npu.store %y[8] from 0
  %l = npu.load inp %x[8] to 0 size [1, 4] stride 4 : memref<12x1x16xi8>
  %m = npu.gemm reset uops [(0, 0, 0)] loops [1, 4] dst [0, 1] src [0, 0] wgt [0, 0]
  %n = npu.gemm uops [(0, 0, 0)] loops [1, 4] dst [0, 1] src [0, 1] wgt [0, 0]
  %o = npu.alu add uops [(0, 5, 0)] loops [1, 4] dst [0, 1] src [0, 0]
  %q = npu.store %y[8] from 0 size [1, 4] stride 4 : memref<12x1x16xi8>
  %f = npu.finish
}

// A product that reads parts of two loads makes one of them: what is read together is moved together.
// CHECK-LABEL: npu.program @joined
npu.program @joined(%x: memref<12x1x16xi8>) config "pynq" {
  // CHECK-NEXT: npu.load inp %x[0] to 0
  // CHECK-NEXT: npu.load inp %x[4] to 2
  // CHECK-NEXT: npu.gemm uops [(0, 0, 0)] loops [1, 4]
  %a = npu.load inp %x[0] to 0 size [1, 4] stride 4 : memref<12x1x16xi8>
  %b = npu.load inp %x[4] to 2 size [1, 2] stride 2 : memref<12x1x16xi8>
  %c = npu.gemm uops [(0, 0, 0)] loops [1, 4] dst [0, 1] src [0, 1] wgt [0, 0]
  // CHECK-NEXT: npu.load inp %x[8] to 4
  // CHECK-NEXT: npu.gemm uops [(0, 4, 0)] loops [1, 4]
  %d = npu.load inp %x[8] to 0 size [1, 4] stride 4 : memref<12x1x16xi8>
  %e = npu.gemm uops [(0, 0, 0)] loops [1, 4] dst [0, 1] src [0, 1] wgt [0, 0]
  %f = npu.finish
}

// Two tiles have no room.
// CHECK-LABEL: npu.program @full
npu.program @full(%x: memref<2048x1x16xi8>) config "pynq" {
  // CHECK-NEXT: npu.load inp %x[0] to 0
  // CHECK-NEXT: npu.gemm uops [(0, 1000, 0)]
  // CHECK-NEXT: npu.load inp %x[0] to 0
  // CHECK-NEXT: npu.gemm uops [(0, 1000, 0)]
  %a = npu.load inp %x[0] to 0 size [1, 1025] stride 1025 : memref<2048x1x16xi8>
  %b = npu.gemm uops [(0, 1000, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0]
  %c = npu.load inp %x[0] to 0 size [1, 1025] stride 1025 : memref<2048x1x16xi8>
  %d = npu.gemm uops [(0, 1000, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0]
  %f = npu.finish
}
