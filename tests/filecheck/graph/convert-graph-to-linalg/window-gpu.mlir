// RUN: stepwell-opt %s -p convert-graph-to-linalg | filecheck %s

// The threads of a GPU compute an element each: its pools are no loops on vectors.
// CHECK-NOT: linalg_ext.pool
// CHECK: linalg.generic
// CHECK-NOT: linalg_ext.pool
builtin.module attributes {sched.target = #target.spec<"webgpu", {}>} {
  func.func @max_of_rows(%x: tensor<1x8x4x5xf32>) -> tensor<1x8x4x5xf32> {
    %0 = graph.fused (%p = %x : tensor<1x8x4x5xf32>) -> (tensor<1x8x4x5xf32>) {
      %1 = graph.pool %p kind "max" kernel [3, 3] strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] : tensor<1x8x4x5xf32> -> tensor<1x8x4x5xf32>
      graph.yield %1 : tensor<1x8x4x5xf32>
    }
    func.return %0 : tensor<1x8x4x5xf32>
  }
}
