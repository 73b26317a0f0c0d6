// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @c1_cell(%x: tensor<5x2x8xf32>, %w: tensor<1x4x8xf32>, %r: tensor<1x4x4xf32>) {
  // expected-error: cell must be one of lstm, gru, rnn, found "elman"
  %0, %1 = graph.rnn %x, %w, %r cell "elman" direction "forward" activations ["tanh"] alphas [0.0] betas [0.0] : (tensor<5x2x8xf32>, tensor<1x4x8xf32>, tensor<1x4x4xf32>) -> tensor<5x1x2x4xf32>, tensor<1x2x4xf32>
  func.return
}
// -----
func.func @c2_unknown(%x: tensor<5x2x8xf32>, %w: tensor<1x4x8xf32>, %r: tensor<1x4x4xf32>) {
  // expected-error: found "cosine"
  %0, %1 = graph.rnn %x, %w, %r cell "rnn" direction "forward" activations ["cosine"] alphas [0.0] betas [0.0] : (tensor<5x2x8xf32>, tensor<1x4x8xf32>, tensor<1x4x4xf32>) -> tensor<5x1x2x4xf32>, tensor<1x2x4xf32>
  func.return
}
// -----
func.func @c2_count(%x: tensor<5x2x8xf32>, %w: tensor<1x12x8xf32>, %r: tensor<1x12x4xf32>) {
  // expected-error: activations, alphas and betas must be 2, found 1 activations
  %0, %1 = graph.rnn %x, %w, %r cell "gru" direction "forward" activations ["tanh"] alphas [0.0] betas [0.0] : (tensor<5x2x8xf32>, tensor<1x12x8xf32>, tensor<1x12x4xf32>) -> tensor<5x1x2x4xf32>, tensor<1x2x4xf32>
  func.return
}
// -----
func.func @c3_element(%x: tensor<5x2x8xi32>, %w: tensor<1x4x8xi32>, %r: tensor<1x4x4xi32>) {
  // expected-error: element type must be a float, found i32
  %0, %1 = graph.rnn %x, %w, %r cell "rnn" direction "forward" activations ["tanh"] alphas [0.0] betas [0.0] : (tensor<5x2x8xi32>, tensor<1x4x8xi32>, tensor<1x4x4xi32>) -> tensor<5x1x2x4xi32>, tensor<1x2x4xi32>
  func.return
}
// -----
func.func @c4_shape(%x: tensor<5x2x8xf32>, %w: tensor<1x4x8xf32>, %r: tensor<1x8x4xf32>) {
  // expected-error: r must have shape (1, 4, 4), found (1, 8, 4)
  %0, %1 = graph.rnn %x, %w, %r cell "rnn" direction "forward" activations ["tanh"] alphas [0.0] betas [0.0] : (tensor<5x2x8xf32>, tensor<1x4x8xf32>, tensor<1x8x4xf32>) -> tensor<5x1x2x4xf32>, tensor<1x2x4xf32>
  func.return
}
// -----
func.func @c4_cell_state(%x: tensor<5x2x8xf32>, %w: tensor<1x4x8xf32>, %r: tensor<1x4x4xf32>, %c: tensor<1x2x4xf32>) {
  // expected-error: a rnn has no c0
  %0, %1 = graph.rnn %x, %w, %r c0 %c : tensor<1x2x4xf32> cell "rnn" direction "forward" activations ["tanh"] alphas [0.0] betas [0.0] : (tensor<5x2x8xf32>, tensor<1x4x8xf32>, tensor<1x4x4xf32>) -> tensor<5x1x2x4xf32>, tensor<1x2x4xf32>
  func.return
}
// -----
func.func @c5_results(%x: tensor<5x2x8xf32>, %w: tensor<1x4x8xf32>, %r: tensor<1x4x4xf32>) {
  // expected-error: rnn has 2 results, found 1
  %0 = graph.rnn %x, %w, %r cell "rnn" direction "forward" activations ["tanh"] alphas [0.0] betas [0.0] : (tensor<5x2x8xf32>, tensor<1x4x8xf32>, tensor<1x4x4xf32>) -> tensor<5x1x2x4xf32>
  func.return
}
// -----
func.func @c4_panel(%x: tensor<5x2x8xf32>, %w: tensor<1x2x8x3xf32>, %r: tensor<1x2x4x3xf32>) {
  // expected-error: a panel of 3 rows must divide the state, of 4
  %0, %1 = graph.rnn %x, %w, %r cell "rnn" direction "forward" activations ["tanh"] alphas [0.0] betas [0.0] packing 3 : (tensor<5x2x8xf32>, tensor<1x2x8x3xf32>, tensor<1x2x4x3xf32>) -> tensor<5x1x2x4xf32>, tensor<1x2x4xf32>
  func.return
}
