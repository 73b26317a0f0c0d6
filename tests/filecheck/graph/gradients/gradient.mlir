// RUN: stepwell-opt %s -p gradient --split-input-file | filecheck %s

// The gradient of a function is a function; what no result needs is not computed.
// CHECK-LABEL: func.func @loss
// CHECK-LABEL: func.func private @loss.gradient_1(
// CHECK-SAME: %x: tensor<3x4xf32>, %w: tensor<4x2xf32>) -> (tensor<f32>, tensor<4x2xf32>)
// CHECK: %[[H:.*]] = graph.matmul %x, %w
// CHECK-NEXT: %[[Y:.*]] = graph.tanh %[[H]]
// CHECK-NEXT: %[[L:.*]] = graph.reduce %[[Y]] kind "sum"
// CHECK: %[[DY:.*]] = graph.broadcast_to
// CHECK: %[[Q:.*]] = graph.multiply %[[Y]], %[[Y]]
// CHECK: %[[S:.*]] = graph.subtract %{{.*}}, %[[Q]]
// CHECK: %[[DH:.*]] = graph.multiply %[[DY]], %[[S]]
// CHECK-NEXT: %[[DW:.*]] = graph.matmul %x, %[[DH]] transpose_a true
// CHECK-NEXT: func.return %[[L]], %[[DW]] : tensor<f32>, tensor<4x2xf32>
func.func @loss(%x: tensor<3x4xf32>, %w: tensor<4x2xf32>) -> tensor<f32> {
  %h = graph.matmul %x, %w : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %t = graph.tanh %h : tensor<3x2xf32> -> tensor<3x2xf32>
  %y = graph.reduce %t kind "sum" axes [0, 1] keep_dims false : tensor<3x2xf32> -> tensor<f32>
  func.return %y : tensor<f32>
}
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<3x4xf32>, %w: tensor<4x2xf32>) -> tensor<4x2xf32> {
  // CHECK: %[[G:.*]] = graph.function @loss.gradient_1
  // CHECK-NEXT: graph.call %[[G]](%x, %w)
  %g = graph.gradient @loss wrt [1] : (tensor<3x4xf32>, tensor<4x2xf32>) -> (tensor<f32>, tensor<4x2xf32>)
  %y, %d = graph.call %g(%x, %w) : (tensor<3x4xf32>, tensor<4x2xf32>) -> (tensor<f32>, tensor<4x2xf32>)
  func.return %d : tensor<4x2xf32>
}
// -----
// A derivative that is asked for twice is one function; a value that is used twice gets the sum.
// CHECK-LABEL: func.func @f
// CHECK-LABEL: func.func private @f.vjp_0(
// CHECK-SAME: %x: tensor<4xf32>, %[[DY:.*]]: tensor<4xf32>)
// CHECK: %[[E:.*]] = graph.exp %x
// CHECK-NEXT: %[[P:.*]] = graph.multiply %[[E]], %x
// CHECK-NEXT: %[[A:.*]] = graph.multiply %[[DY]], %x
// CHECK-NEXT: %[[B:.*]] = graph.multiply %[[DY]], %[[E]]
// CHECK-NEXT: %[[C:.*]] = graph.multiply %[[A]], %[[E]]
// CHECK-NEXT: %[[D:.*]] = graph.add %[[B]], %[[C]]
// CHECK-NEXT: func.return %[[P]], %[[D]]
// CHECK-NOT: @f.vjp_0(
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
  %y = graph.multiply %e, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.vjp @f wrt [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %b = graph.vjp @f wrt [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %y, %d = graph.call %a(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %z, %e = graph.call %b(%d, %d) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.return %e : tensor<4xf32>
}
// -----
// An argument that no result depends on has a gradient of zeros.
// CHECK-LABEL: func.func private @constant.gradient_0(
// CHECK: %[[F:.*]] = graph.floor %x
// CHECK: %[[Z:.*]] = graph.constant dense<0.0
// CHECK: %[[D:.*]] = graph.full %[[Z]] shape <[4]>
// CHECK: func.return %[[F]], %[[D]]
func.func @constant(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.floor %x : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @of_constant() {
  %a = graph.gradient @constant wrt [0] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.return
}
// -----
// Inlining knows a size that the function's type does not have: the derivative has the declared one.
// CHECK-LABEL: func.func private @open.gradient_0(%x: tensor<4xf32>) -> (tensor<?xf32>, tensor<4xf32>)
// CHECK: func.return %{{.*}}, %{{.*}} : tensor<?xf32>, tensor<4xf32>
func.func private @same(%x: tensor<?xf32>) -> tensor<?xf32> {
  func.return %x : tensor<?xf32>
}
func.func private @open(%x: tensor<4xf32>) -> tensor<?xf32> {
  %z = graph.multiply %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.call @same(%z) : (tensor<4xf32>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
func.func @main(%x: tensor<4xf32>) -> (tensor<?xf32>, tensor<4xf32>) {
  %g = graph.gradient @open wrt [0] : (tensor<4xf32>) -> (tensor<?xf32>, tensor<4xf32>)
  %y, %d = graph.call %g(%x) : (tensor<4xf32>) -> (tensor<?xf32>, tensor<4xf32>)
  func.return %y, %d : tensor<?xf32>, tensor<4xf32>
}
