// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @pool
func.func @pool(%x: tensor<1x64x112x112xf32>, %u: tensor<1x4x7x7x16xf32>, %d: tensor<?x8x?xf32, #graph.dims<["N", 8, "W"]>>) {
  // CHECK: graph.pool %x kind "max" kernel [3, 3] strides [2, 2] dilations [1, 1] pads [1, 1, 1, 1] : tensor<1x64x112x112xf32> -> tensor<1x64x56x56xf32>
  %0 = graph.pool %x kind "max" kernel [3, 3] strides [2, 2] dilations [1, 1] pads [1, 1, 1, 1] : tensor<1x64x112x112xf32> -> tensor<1x64x56x56xf32>
  // CHECK: graph.pool %x kind "max" {{.*}} indices "row" : tensor<1x64x112x112xf32> -> tensor<1x64x56x56xf32>, tensor<1x64x56x56xi64>
  %1, %2 = graph.pool %x kind "max" kernel [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] indices "row" : tensor<1x64x112x112xf32> -> tensor<1x64x56x56xf32>, tensor<1x64x56x56xi64>
  // CHECK: graph.pool %u kind "avg" {{.*}} count_include_pad true data_layout "NCHW16c"
  %3 = graph.pool %u kind "avg" kernel [2, 2] strides [1, 1] dilations [1, 1] pads [0, 0, 1, 1] count_include_pad true data_layout "NCHW16c" : tensor<1x4x7x7x16xf32> -> tensor<1x4x7x7x16xf32>
  // CHECK: graph.pool %d kind "lp" kernel [3] strides [1] dilations [2] pads [2, 2] p 3 data_layout "NCW"
  %4 = graph.pool %d kind "lp" kernel [3] strides [1] dilations [2] pads [2, 2] p 3 data_layout "NCW" : tensor<?x8x?xf32, #graph.dims<["N", 8, "W"]>> -> tensor<?x8x?xf32, #graph.dims<["N", 8, "W"]>>
  func.return
}
