// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @lstm
func.func @lstm(%x: tensor<?x2x8xf32, #graph.dims<["T", 2, 8]>>, %w: tensor<2x16x8xf32>, %r: tensor<2x16x4xf32>, %b: tensor<2x32xf32>, %n: tensor<2xi32>, %s: tensor<2x2x4xf32>, %p: tensor<2x12xf32>) {
  // CHECK: graph.rnn %x, %w, %r bias %b : tensor<2x32xf32> lengths %n : tensor<2xi32> h0 %s : tensor<2x2x4xf32> c0 %s : tensor<2x2x4xf32> peepholes %p : tensor<2x12xf32> cell "lstm" direction "bidirectional" activations ["sigmoid", "tanh", "tanh", "sigmoid", "tanh", "tanh"]
  // CHECK-SAME: clip 3.000000e+00 input_forget true
  // CHECK-SAME: -> tensor<?x2x2x4xf32, #graph.dims<["T", 2, 2, 4]>>, tensor<2x2x4xf32>, tensor<2x2x4xf32>
  %0, %1, %2 = graph.rnn %x, %w, %r bias %b : tensor<2x32xf32> lengths %n : tensor<2xi32> h0 %s : tensor<2x2x4xf32> c0 %s : tensor<2x2x4xf32> peepholes %p : tensor<2x12xf32> cell "lstm" direction "bidirectional" activations ["sigmoid", "tanh", "tanh", "sigmoid", "tanh", "tanh"] alphas [0.0, 0.0, 0.0, 0.0, 0.0, 0.0] betas [0.0, 0.0, 0.0, 0.0, 0.0, 0.0] clip 3.0 input_forget true : (tensor<?x2x8xf32, #graph.dims<["T", 2, 8]>>, tensor<2x16x8xf32>, tensor<2x16x4xf32>) -> tensor<?x2x2x4xf32, #graph.dims<["T", 2, 2, 4]>>, tensor<2x2x4xf32>, tensor<2x2x4xf32>
  func.return
}

// CHECK-LABEL: @gru
func.func @gru(%x: tensor<5x2x8xf32>, %w: tensor<1x12x8xf32>, %r: tensor<1x12x4xf32>) {
  // CHECK: graph.rnn %x, %w, %r cell "gru" direction "reverse" activations ["sigmoid", "hard_sigmoid"] alphas [0.000000e+00, 2.000000e-01] betas [0.000000e+00, 5.000000e-01] linear_before_reset true :
  %0, %1 = graph.rnn %x, %w, %r cell "gru" direction "reverse" activations ["sigmoid", "hard_sigmoid"] alphas [0.0, 0.2] betas [0.0, 0.5] linear_before_reset true : (tensor<5x2x8xf32>, tensor<1x12x8xf32>, tensor<1x12x4xf32>) -> tensor<5x1x2x4xf32>, tensor<1x2x4xf32>
  func.return
}
