// RUN: stepwell-opt %s --load %S/lowerings.py -p convert-plugins-to-graph | filecheck %s

// CHECK-LABEL: @clamp
// CHECK: %[[LOW:.*]] = graph.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[HIGH:.*]] = graph.constant dense<6.000000e+00> : tensor<f32>
// CHECK: %[[LEAST:.*]] = graph.maximum %x, %[[LOW]]
// CHECK: %y = graph.minimum %[[LEAST]], %[[HIGH]] : {{.*}} -> tensor<?xf32, #graph.dims<["N"]>>
func.func @clamp(%x: tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?xf32, #graph.dims<["N"]>> {
  %y = lowered.clamp %x between 0.0 and 6.0 : tensor<?xf32, #graph.dims<["N"]>> -> tensor<?xf32, #graph.dims<["N"]>>
  func.return %y : tensor<?xf32, #graph.dims<["N"]>>
}

// An op that a lowering builds is lowered too.
// CHECK-LABEL: @built
// CHECK-NOT: lowered.
// CHECK: graph.maximum
// CHECK: %[[GATE:.*]] = graph.minimum
// CHECK: %y = graph.multiply %x, %[[GATE]]
func.func @built(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "lowered.hard_swish"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// A result type that knows less than the lowering becomes as precise.
// CHECK-LABEL: func.func @precise
// CHECK-SAME: -> tensor<?xf32, #graph.dims<["N"]>>
// CHECK: %y = graph.reduce %x kind "sum" axes [1] keep_dims false : {{.*}} -> tensor<?xf32, #graph.dims<["N"]>>
func.func @precise(%x: tensor<?x4xf32, #graph.dims<["N", 4]>>) -> tensor<?xf32> {
  %y = "lowered.rows"(%x) : (tensor<?x4xf32, #graph.dims<["N", 4]>>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}

// Without a lowering an op stays, for a backend.
// CHECK-LABEL: @kept
// CHECK: "lowered.kept"(%x)
func.func @kept(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "lowered.kept"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: @by_itself
// CHECK: graph.relu %x
func.func @by_itself(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "lowered.by_itself"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
