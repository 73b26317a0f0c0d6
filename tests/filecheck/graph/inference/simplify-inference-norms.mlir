// RUN: stepwell-opt %s -p simplify-inference | filecheck %s

// Statistics in f32, the result back in f16; mean and inverse deviation are results too.
// CHECK-LABEL: @layer_norm
// CHECK: %[[W:.*]] = graph.cast %x
// CHECK: %[[M:.*]] = graph.reduce %[[W]] kind "mean" axes [1, 2] keep_dims true
// CHECK: graph.subtract %[[W]], %[[M]]
// CHECK: %[[R:.*]] = graph.rsqrt
// CHECK: graph.cast {{.*}} -> tensor<2x3x4xf16>
// CHECK-NEXT: func.return %{{.*}}, %[[M]], %[[R]]
func.func @layer_norm(%x: tensor<2x3x4xf16>, %s: tensor<3x4xf16>, %b: tensor<3x4xf16>) -> (tensor<2x3x4xf16>, tensor<2x1x1xf32>, tensor<2x1x1xf32>) {
  %y, %m, %i = graph.layer_norm %x scale %s : tensor<3x4xf16> bias %b : tensor<3x4xf16> axis 1 eps 1.0e-5 compute_type f32 : tensor<2x3x4xf16> -> tensor<2x3x4xf16>, tensor<2x1x1xf32>, tensor<2x1x1xf32>
  func.return %y, %m, %i : tensor<2x3x4xf16>, tensor<2x1x1xf32>, tensor<2x1x1xf32>
}

// CHECK-LABEL: @rms_norm
// CHECK-NOT: graph.rms_norm
// CHECK-NOT: graph.cast
func.func @rms_norm(%x: tensor<2x3x4xf32>, %s: tensor<4xf32>) -> tensor<2x3x4xf32> {
  %y = graph.rms_norm %x scale %s : tensor<4xf32> axis 2 eps 1.0e-5 compute_type f32 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  func.return %y : tensor<2x3x4xf32>
}

// Channels of dimensions that are known by name only.
// CHECK-LABEL: @group_norm
// CHECK: graph.reshape %x shape <["N", 2, "3 * H"]>
func.func @group_norm(%x: tensor<?x6x?xf32, #graph.dims<["N", 6, "H"]>>, %s: tensor<6xf32>, %b: tensor<6xf32>) -> tensor<?x6x?xf32, #graph.dims<["N", 6, "H"]>> {
  %y = graph.group_norm %x scale %s : tensor<6xf32> bias %b : tensor<6xf32> groups 2 eps 1.0e-5 : tensor<?x6x?xf32, #graph.dims<["N", 6, "H"]>> -> tensor<?x6x?xf32, #graph.dims<["N", 6, "H"]>>
  func.return %y : tensor<?x6x?xf32, #graph.dims<["N", 6, "H"]>>
}

// CHECK-LABEL: @instance_norm
// CHECK: graph.reshape %x shape <[2, 3, 20]>
func.func @instance_norm(%x: tensor<2x3x4x5xf32>, %s: tensor<3xf32>) -> tensor<2x3x4x5xf32> {
  %y = graph.instance_norm %x scale %s : tensor<3xf32> eps 1.0e-5 : tensor<2x3x4x5xf32> -> tensor<2x3x4x5xf32>
  func.return %y : tensor<2x3x4x5xf32>
}

// CHECK-LABEL: @lp_norm
// CHECK: graph.reduce %x kind "l1"
func.func @lp_norm(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = graph.lp_norm %x axis 0 p 1 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
