// RUN: stepwell-opt %s | filecheck %s

// Weights and sizes are operands, other constant arguments are attributes, and defaults are left out.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<?x3x8x8xf32, #graph.dims<["N", 3, 8, 8]>>) {
  // CHECK: %[[W:.*]] = "coreml.weight"() <{value = dense<5.000000e-01> : tensor<4x3x1x1xf32>}> {coreml.name = "w"} : () -> tensor<4x3x1x1xf32>
  %w = "coreml.weight"() <{value = dense<0.5> : tensor<4x3x1x1xf32>}> {coreml.name = "w"} : () -> tensor<4x3x1x1xf32>
  // CHECK: "coreml.conv"(%x, %[[W]]) {strides = [2 : i64, 2 : i64], pad_type = "same"}
  %y = "coreml.conv"(%x, %w) {strides = [2 : i64, 2 : i64], pad_type = "same"} : (tensor<?x3x8x8xf32, #graph.dims<["N", 3, 8, 8]>>, tensor<4x3x1x1xf32>) -> tensor<?x4x4x4xf32>
  // CHECK: "coreml.concat"(%{{.*}}, %{{.*}}) {axis = 1 : i64} : (tensor<?x4x4x4xf32>, tensor<?x4x4x4xf32>) -> tensor<?x8x4x4xf32>
  %z = "coreml.concat"(%y, %y) {axis = 1 : i64} : (tensor<?x4x4x4xf32>, tensor<?x4x4x4xf32>) -> tensor<?x8x4x4xf32>
  // CHECK: "coreml.operator"(%{{.*}}) <{target = "crop_resize"}> : (tensor<?x8x4x4xf32>) -> tensor<?x8x2x2xf32>
  %o = "coreml.operator"(%z) <{target = "crop_resize"}> : (tensor<?x8x4x4xf32>) -> tensor<?x8x2x2xf32>
  func.return
}
