// RUN: stepwell-opt %s -p add-npu-waits | filecheck %s
// RUN: stepwell-opt %s -p assign-tokens,add-npu-waits,add-npu-waits | filecheck %s

// CHECK-LABEL: npu.program @p
npu.program @p(%x: memref<4x1x16xi8>, %w: memref<2x16x16xi8>, %y: memref<4x1x16xi8>) config "pynq" {
  // CHECK-NEXT: %[[A:.*]] = npu.load inp {{.*}} stride 1 :
  // CHECK-NEXT: %[[B:.*]] = npu.load wgt {{.*}} stride 1 :
  %a = npu.load inp %x[0] to 0 size [1, 1] stride 1 : memref<4x1x16xi8>
  %b = npu.load wgt %w[0] to 0 size [1, 1] stride 1 : memref<2x16x16xi8>
  // Zeros read nothing; products wait for the last of what they read.
  // CHECK-NEXT: npu.gemm reset {{.*}} wgt [0, 0]{{$}}
  // CHECK-NEXT: %[[G:.*]] = npu.gemm {{.*}} after(%[[B]]){{$}}
  %z = npu.gemm reset uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0]
  %g = npu.gemm uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0]
  // An input elsewhere needs no wait, one in its place does.
  // CHECK-NEXT: %[[C:.*]] = npu.load inp {{.*}} to 1 size [1, 1] stride 1 :
  // CHECK-NEXT: %[[D:.*]] = npu.load inp {{.*}} to 0 size [1, 1] stride 1 after(%[[G]]) :
  %c = npu.load inp %x[1] to 1 size [1, 1] stride 1 : memref<4x1x16xi8>
  %d = npu.load inp %x[2] to 0 size [1, 1] stride 1 : memref<4x1x16xi8>
  // What is asked for without need is not waited for.
  // CHECK-NEXT: %[[R:.*]] = npu.alu max imm 0 uops [(0, 0, 0)] {{.*}} src [0, 0]{{$}}
  %r = npu.alu max imm 0 uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] after(%d)
  // CHECK-NEXT: %[[S:.*]] = npu.store {{.*}} from 0 {{.*}} after(%[[R]]) :
  %s = npu.store %y[0] from 0 size [1, 1] stride 1 : memref<4x1x16xi8>
  // The sums are stored before they are written again; products wait for inputs not waited for yet.
  // CHECK-NEXT: npu.gemm reset {{.*}} after(%[[S]]){{$}}
  // CHECK-NEXT: %[[H:.*]] = npu.gemm uops [(0, 1, 0)] {{.*}} after(%[[C]]){{$}}
  // CHECK-NEXT: %[[T:.*]] = npu.store {{.*}} after(%[[H]]) :
  %q = npu.gemm reset uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0]
  %h = npu.gemm uops [(0, 1, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0]
  %t = npu.store %y[1] from 0 size [1, 1] stride 1 : memref<4x1x16xi8>
  // The end is after the last instruction of each stage.
  // CHECK-NEXT: npu.finish after(%[[D]], %[[T]]){{$}}
  %f = npu.finish
}
