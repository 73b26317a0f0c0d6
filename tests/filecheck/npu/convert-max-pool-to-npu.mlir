// RUN: stepwell-opt %s -p 'merge-composite{table=npu},annotate-target{backends=npu},merge-regions,partition-graph{bind-constants},convert-graph-to-npu' | filecheck %s

// A place of each window is widened by the identity and compared; padding is the lowest byte.
// CHECK: npu.program @npu_0_layer0(%x: memref<16x1x16xi8>, %w: memref<1x16x16xi8>, %y: memref<4x1x16xi8>) config "pynq"
// CHECK: npu.load wgt %w[0]
// CHECK: npu.load inp %x[0] to 0 size [4, 4] stride 4 pad [1, 0, 1, 0] value -128
// CHECK: npu.gemm reset uops [(0, 0, 0)] loops [2, 2] dst [2, 1]
// CHECK: npu.gemm uops [(0, 0, 0)] loops [2, 2] dst [2, 1] src [{{[0-9]+}}, 2]
// CHECK-NOT: npu.alu
// CHECK: npu.gemm reset uops [(4, 0, 0)]
// CHECK: npu.gemm uops [(4, 1, 0)]
// CHECK: npu.alu max uops [(0, 4, 0)] loops [2, 2] dst [2, 1] src [2, 1]
// CHECK: npu.store %y[0] from 0 size [2, 2] stride 2
// CHECK: npu.finish
func.func @main(%x: tensor<1x2x4x4xui8>) -> tensor<1x2x2x2xui8> {
  %y = graph.pool %x kind "max" kernel [3, 3] strides [2, 2] dilations [1, 1] pads [1, 1, 0, 0] : tensor<1x2x4x4xui8> -> tensor<1x2x2x2xui8>
  func.return %y : tensor<1x2x2x2xui8>
}
