// RUN: stepwell-opt %s -p 'append-optimizer{kind=sgd lr=0.5}' | filecheck %s --check-prefixes=CHECK,SGD
// RUN: stepwell-opt %s -p 'append-optimizer{kind=adam}' | filecheck %s --check-prefixes=CHECK,ADAM
// RUN: stepwell-opt %s -p 'append-optimizer{kind=sgd lr=0.5},gradient,inline,remove-unused-functions' | filecheck %s --check-prefix=STEP

// CHECK-LABEL: func.func private @loss(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<f32>
// CHECK-LABEL: func.func @main(%w: tensor<4xf32> {graph.name = "w", graph.state = "w"},
// SGD-SAME: %x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xf32> {graph.name = "w", graph.state = "w"}, tensor<f32> {graph.name = "loss"})
// ADAM-SAME: %w_m: tensor<4xf32> {graph.name = "w.m", graph.state = "w.m"}, %w_v: tensor<4xf32> {graph.name = "w.v", graph.state = "w.v"}, %step: tensor<f32> {graph.name = "step", graph.state = "step"}, %x: tensor<4xf32> {graph.name = "x"})
// CHECK: %[[G:.*]] = graph.gradient @loss wrt [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
// CHECK-NEXT: %[[L:.*]], %[[D:.*]] = graph.call %[[G]](%w, %x)
// SGD: %[[S:.*]] = graph.multiply %[[D]]
// SGD-NEXT: %[[W:.*]] = graph.subtract %w, %[[S]]
// SGD-NEXT: func.return %[[W]], %[[L]]

// STEP-NOT: @loss
// STEP: %[[P:.*]] = graph.multiply %w, %x
// STEP: graph.reduce %[[P]] kind "sum"
// STEP: %[[D:.*]] = graph.multiply %{{.*}}, %x
// STEP-NOT: graph.call
func.func @main(%w: tensor<4xf32> {graph.name = "w", graph.state = "w"}, %x: tensor<4xf32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "loss"}) {
  %p = graph.multiply %w, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.reduce %p kind "sum" axes [0] keep_dims false : tensor<4xf32> -> tensor<f32>
  func.return %y : tensor<f32>
}
