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
// Blocks are regions, which see the values around them; a list is a tensor.
// CHECK-LABEL: func.func @control
func.func @control(%c: tensor<i1>, %n: tensor<i32>, %x: tensor<3xf32>) {
  // CHECK: %[[L:.*]] = "coreml.make_list"(%n) {elem_shape = [3 : i64], dynamic_length = false} : (tensor<i32>) -> tensor<?x3xf32>
  %l = "coreml.make_list"(%n) {elem_shape = [3 : i64], dynamic_length = false} : (tensor<i32>) -> tensor<?x3xf32>
  // CHECK: "coreml.while"(%n, %[[L]]) ({
  %i, %m = "coreml.while"(%n, %l) ({
  ^bb0(%a: tensor<i32>, %b: tensor<?x3xf32>):
    // CHECK: "coreml.return"(%c) : (tensor<i1>) -> ()
    "coreml.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb1(%d: tensor<i32>, %e: tensor<?x3xf32>):
    // CHECK: "coreml.list_write"(%{{.*}}, %{{.*}}, %x) : (tensor<?x3xf32>, tensor<i32>, tensor<3xf32>) -> tensor<?x3xf32>
    %f = "coreml.list_write"(%e, %d, %x) : (tensor<?x3xf32>, tensor<i32>, tensor<3xf32>) -> tensor<?x3xf32>
    "coreml.return"(%d, %f) : (tensor<i32>, tensor<?x3xf32>) -> ()
  }) : (tensor<i32>, tensor<?x3xf32>) -> (tensor<i32>, tensor<?x3xf32>)
  // CHECK: "coreml.if"(%c) ({
  %y = "coreml.if"(%c) ({
    "coreml.return"(%x) : (tensor<3xf32>) -> ()
  }, {
    "coreml.return"(%x) : (tensor<3xf32>) -> ()
  }) : (tensor<i1>) -> tensor<3xf32>
  func.return
}
