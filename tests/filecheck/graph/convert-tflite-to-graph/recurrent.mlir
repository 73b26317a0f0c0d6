// RUN: stepwell-opt %s -p convert-tflite-to-graph | filecheck %s

// The new state is a result; outputs go back to the order of the input.
// CHECK-LABEL: func.func @layer
// CHECK: %[[X:.*]] = graph.transpose %x perm [1, 0, 2] : tensor<2x6x3xf32> -> tensor<6x2x3xf32>
// CHECK: %[[Y:.*]], %[[H:.*]] = graph.rnn %[[X]], %{{.*}}, %{{.*}} bias %{{.*}} : tensor<1x10xf32> h0 %{{.*}} : tensor<1x2x5xf32> cell "rnn" direction "forward" activations ["tanh"]
// CHECK: %[[Z:.*]] = graph.squeeze %[[Y]] axes [1]
// CHECK: %[[S:.*]] = graph.squeeze %[[H]] axes [0]
// CHECK: %[[B:.*]] = graph.transpose %[[Z]] perm [1, 0, 2]
// CHECK: func.return %[[B]], %[[S]]
func.func @layer(%x: tensor<2x6x3xf32>, %w: tensor<5x3xf32>, %r: tensor<5x5xf32>, %b: tensor<5xf32>, %h: tensor<2x5xf32>) -> (tensor<2x6x5xf32>, tensor<2x5xf32>) {
  %y, %s = "tflite.unidirectional_sequence_rnn"(%x, %w, %r, %b, %h) {fused_activation_function = "TANH"} : (tensor<2x6x3xf32>, tensor<5x3xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<2x5xf32>) -> (tensor<2x6x5xf32>, tensor<2x5xf32>)
  func.return %y, %s : tensor<2x6x5xf32>, tensor<2x5xf32>
}

// A function that the layer's op does not have: a loop, with one product for the inputs of all steps.
// CHECK-LABEL: func.func @loop
// CHECK: graph.matmul %x, %{{.*}} : (tensor<6x2x3xf32>, tensor<3x5xf32>) -> tensor<6x2x5xf32>
// CHECK: graph.for %[[I:.*]] to %{{.*}} (%[[C:.*]] = %{{.*}} : tensor<6x2x5xf32>, %[[P:.*]] = %h : tensor<2x5xf32>)
// CHECK:   graph.gather
// CHECK:   graph.matmul %[[P]]
// CHECK:   graph.insert_slice
func.func @loop(%x: tensor<6x2x3xf32>, %w: tensor<5x3xf32>, %r: tensor<5x5xf32>, %b: tensor<5xf32>, %h: tensor<2x5xf32>) -> (tensor<6x2x5xf32>, tensor<2x5xf32>) {
  %y, %s = "tflite.unidirectional_sequence_rnn"(%x, %w, %r, %b, %h) {fused_activation_function = "RELU6", time_major = true} : (tensor<6x2x3xf32>, tensor<5x3xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<2x5xf32>) -> (tensor<6x2x5xf32>, tensor<2x5xf32>)
  func.return %y, %s : tensor<6x2x5xf32>, tensor<2x5xf32>
}

// One step has no loop.
// CHECK-LABEL: func.func @step
// CHECK-NOT: graph.for
// CHECK: %[[R:.*]] = graph.relu
// CHECK: func.return %[[R]], %[[R]]
func.func @step(%x: tensor<2x3xf32>, %w: tensor<5x3xf32>, %r: tensor<5x5xf32>, %b: tensor<5xf32>, %h: tensor<2x5xf32>) -> (tensor<2x5xf32>, tensor<2x5xf32>) {
  %y, %s = "tflite.rnn"(%x, %w, %r, %b, %h) {fused_activation_function = "RELU"} : (tensor<2x3xf32>, tensor<5x3xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<2x5xf32>) -> (tensor<2x5xf32>, tensor<2x5xf32>)
  func.return %y, %s : tensor<2x5xf32>, tensor<2x5xf32>
}
