// RUN: stepwell-opt %s -p convert-stablehlo-to-graph | filecheck %s

// Shapes that are computed from sizes of inputs become named sizes: no operation on shapes is left over.
// CHECK-LABEL: @dynamic
// CHECK: graph.broadcast_to %{{.*}} shape <["b", 8]>
// CHECK: graph.matmul %x, %w
// CHECK: return %{{.*}} : tensor<?x8xf32, #graph.dims<["b", 8]>>
func.func @dynamic(%x: tensor<?x4xf32, #graph.dims<["b", 4]>>, %w: tensor<4x8xf32>, %v: tensor<8xf32>) -> tensor<?x8xf32> {
  %eight = "stablehlo.weight"() <{value = dense<[8]> : tensor<1xi32>}> : () -> tensor<1xi32>
  %n = "stablehlo.get_dimension_size"(%x) {dimension = 0 : i64} : (tensor<?x4xf32, #graph.dims<["b", 4]>>) -> tensor<i32>
  %r = "stablehlo.reshape"(%n) : (tensor<i32>) -> tensor<1xi32>
  %s = "stablehlo.concatenate"(%r, %eight) {dimension = 0 : i64} : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %b = "stablehlo.dynamic_broadcast_in_dim"(%v, %s) {broadcast_dimensions = [1]} : (tensor<8xf32>, tensor<2xi32>) -> tensor<?x8xf32>
  %y = "stablehlo.dot_general"(%x, %w) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : (tensor<?x4xf32, #graph.dims<["b", 4]>>, tensor<4x8xf32>) -> tensor<?x8xf32>
  %z = "stablehlo.add"(%y, %b) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  func.return %z : tensor<?x8xf32>
}
// Dimensions in any order are transposed around `graph.conv`; a window as long as its axis is a running sum.
// CHECK-LABEL: @windows
// CHECK: %[[X:.*]] = graph.transpose %x perm [0, 3, 1, 2]
// CHECK: %[[W:.*]] = graph.transpose %w perm [3, 2, 0, 1]
// CHECK: %[[C:.*]] = graph.conv %[[X]], %[[W]] strides [1, 2] dilations [1, 1] pads [1, 0, 1, 1]
// CHECK: graph.transpose %[[C]] perm [0, 2, 3, 1]
// CHECK: graph.scan %v kind "sum" axis 0 exclusive false reverse false
func.func @windows(%x: tensor<1x4x4x2xf32>, %w: tensor<3x3x2x5xf32>, %v: tensor<4xf32>, %z: tensor<f32>) {
  %0 = "stablehlo.convolution"(%x, %w) {dimension_numbers = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", window_strides = [1, 2], padding = [1, 1, 0, 1]} : (tensor<1x4x4x2xf32>, tensor<3x3x2x5xf32>) -> tensor<1x4x2x5xf32>
  %1 = "stablehlo.reduce_window"(%v, %z) {window_dimensions = [4], kind = "add", padding = [3, 0]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return
}
// CHECK-LABEL: @control
// CHECK: %[[ZERO:.*]] = graph.equal %i
// CHECK: graph.if %[[ZERO]] : tensor<i1> -> (tensor<4xf32>) {
// CHECK: graph.if %{{.*}} : tensor<i1>
// CHECK: graph.while (%{{.*}} = %x : tensor<4xf32>) -> (tensor<4xf32>)
func.func @control(%i: tensor<i32>, %x: tensor<4xf32>, %c: tensor<i1>) {
  %0 = "stablehlo.case"(%i) ({
    "stablehlo.return"(%x) : (tensor<4xf32>) -> ()
  }, {
    %n = "stablehlo.negate"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "stablehlo.return"(%n) : (tensor<4xf32>) -> ()
  }, {
    %e = "stablehlo.exponential"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "stablehlo.return"(%e) : (tensor<4xf32>) -> ()
  }) : (tensor<i32>) -> tensor<4xf32>
  %1 = "stablehlo.while"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb1(%b: tensor<4xf32>):
    %d = "stablehlo.add"(%b, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "stablehlo.return"(%d) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
