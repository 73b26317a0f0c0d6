// RUN: stepwell-opt %s -p npu-fuse-uops | filecheck %s
// RUN: stepwell-opt %s -p npu-fuse-uops,npu-fuse-uops | filecheck %s

// CHECK-LABEL: npu.program @products
npu.program @products(%x: memref<8x1x16xi8>, %w: memref<4x16x16xi8>) config "pynq" {
  // Zeros and products of two blocks of the result.
  // CHECK: %[[A:.*]] = npu.load inp
  // CHECK-NEXT: %[[B:.*]] = npu.load wgt
  // CHECK-NEXT: %[[Z:.*]] = npu.gemm reset uops [(0, 0, 0), (4, 0, 0)] loops [2, 2] dst [2, 1] src [0, 0] wgt [0, 0]{{$}}
  // CHECK-NEXT: %[[G:.*]] = npu.gemm uops [(0, 0, 0), (0, 1, 1), (4, 0, 2)] loops [2, 2] dst [2, 1] src [4, 1] wgt [0, 0] after(%[[A]], %[[B]]){{$}}
  %a = npu.load inp %x[0] to 0 size [1, 8] stride 8 : memref<8x1x16xi8>
  %b = npu.load wgt %w[0] to 0 size [1, 4] stride 4 : memref<4x16x16xi8>
  %y = npu.gemm reset uops [(0, 0, 0)] loops [2, 2] dst [2, 1] src [0, 0] wgt [0, 0]
  %z = npu.gemm reset uops [(4, 0, 0)] loops [2, 2] dst [2, 1] src [0, 0] wgt [0, 0]
  %g = npu.gemm uops [(0, 0, 0), (0, 1, 1)] loops [2, 2] dst [2, 1] src [4, 1] wgt [0, 0] after(%a)
  %h = npu.gemm uops [(4, 0, 2)] loops [2, 2] dst [2, 1] src [4, 1] wgt [0, 0] after(%a, %b)
  // Other factors, and a copy between two, keep instructions apart.
  // CHECK-NEXT: npu.gemm uops [(4, 1, 3)] loops [2, 2] dst [2, 1] src [2, 1]
  %i = npu.gemm uops [(4, 1, 3)] loops [2, 2] dst [2, 1] src [2, 1] wgt [0, 0]
  // CHECK-NEXT: npu.load inp %{{.*}} after(%[[G]]) :
  %c = npu.load inp %x[0] to 0 size [1, 8] stride 8 after(%g, %h) : memref<8x1x16xi8>
  // CHECK-NEXT: npu.gemm uops [(0, 0, 0)] loops [2, 2] dst [2, 1] src [2, 1] {{.*}} after(
  %j = npu.gemm uops [(0, 0, 0)] loops [2, 2] dst [2, 1] src [2, 1] wgt [0, 0] after(%c)
  %f = npu.finish
}

// CHECK-LABEL: npu.program @elementwise
npu.program @elementwise() config "pynq" {
  // CHECK-NEXT: npu.alu add uops [(0, 8, 0), (4, 9, 0)] loops [1, 4]
  %a = npu.alu add uops [(0, 8, 0)] loops [1, 4] dst [0, 1] src [0, 0]
  %b = npu.alu add uops [(4, 9, 0)] loops [1, 4] dst [0, 1] src [0, 0]
  // The second one reads what the first one writes; the third one writes what the second one reads.
  // CHECK-NEXT: npu.alu max uops [(0, 8, 0)]
  // CHECK-NEXT: npu.alu max uops [(12, 3, 0)]
  // CHECK-NEXT: npu.alu max uops [(2, 8, 0)]
  %c = npu.alu max uops [(0, 8, 0)] loops [1, 4] dst [0, 1] src [0, 0]
  %d = npu.alu max uops [(12, 3, 0)] loops [1, 4] dst [0, 1] src [0, 0]
  %e = npu.alu max uops [(2, 8, 0)] loops [1, 4] dst [0, 1] src [0, 0]
  // Two that write the same element, and other numbers.
  // CHECK-NEXT: npu.alu add imm 3 uops [(0, 0, 0)]
  // CHECK-NEXT: npu.alu add imm 3 uops [(3, 0, 0)]
  // CHECK-NEXT: npu.alu add imm 4 uops [(16, 0, 0)]
  %g = npu.alu add imm 3 uops [(0, 0, 0)] loops [1, 4] dst [0, 1] src [0, 0]
  %h = npu.alu add imm 3 uops [(3, 0, 0)] loops [1, 4] dst [0, 1] src [0, 0]
  %i = npu.alu add imm 4 uops [(16, 0, 0)] loops [1, 4] dst [0, 1] src [0, 0]
  // The third index of mulshift is read as well.
  // CHECK-NEXT: npu.alu mulshift uops [(0, 20, 21)]
  // CHECK-NEXT: npu.alu mulshift uops [(20, 30, 31), (24, 30, 31)]
  %j = npu.alu mulshift uops [(0, 20, 21)] loops [1, 4] dst [0, 1] src [0, 0]
  %k = npu.alu mulshift uops [(20, 30, 31)] loops [1, 4] dst [0, 1] src [0, 0]
  %l = npu.alu mulshift uops [(24, 30, 31)] loops [1, 4] dst [0, 1] src [0, 0]
  %f = npu.finish
}

// Tokens count instructions: with them assigned, none are merged.
// CHECK-LABEL: npu.program @assigned
npu.program @assigned() config "pynq" {
  // CHECK-NEXT: npu.gemm reset uops [(0, 0, 0)]
  // CHECK-NEXT: npu.gemm reset uops [(1, 0, 0)]
  %a = npu.gemm reset uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0] tokens []
  %b = npu.gemm reset uops [(1, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0] tokens []
  %f = npu.finish tokens []
}
