// A recurrent cell (Elman, Cognitive Science 14, 1990) folded over a list of vectors, which may have any length: the
// state after each vector is tanh(x·w + h·u + b). Weights are arguments.
//
//   stepwell run examples/list_rnn.mlir                   # on a list that is made up
//   stepwell check-gradients examples/list_rnn.mlir --function loss

!X = tensor<1x16xf32>
!H = tensor<1x32xf32>
!W = tensor<16x32xf32>
!U = tensor<32x32xf32>
!B = tensor<32xf32>

// The state after the last vector.
func.func @main(%xs: !adt.data<@List, !X>, %w: !W, %u: !U, %b: !B) -> !H {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %start = graph.full %zero shape <[1, 32]> : tensor<f32> -> !H
  %cell = graph.lambda (%h: !H, %x: !X) -> (!H) {
    %p = graph.matmul %x, %w : (!X, !W) -> !H
    %q = graph.matmul %h, %u : (!H, !U) -> !H
    %s = graph.add %p, %q : (!H, !H) -> !H
    %t = graph.add %s, %b : (!H, !B) -> !H
    %next = graph.tanh %t : !H -> !H
    graph.yield %next : !H
  }
  %last = graph.call @foldl<!H, !X>(%cell, %start, %xs) : ((!H, !X) -> !H, !H, !adt.data<@List, !X>) -> !H
  func.return %last : !H
}

// How far the last state is from a target: half the sum of squares.
func.func @loss(%xs: !adt.data<@List, !X>, %w: !W, %u: !U, %b: !B, %target: !H) -> tensor<f32> {
  %h = graph.call @main(%xs, %w, %u, %b) : (!adt.data<@List, !X>, !W, !U, !B) -> !H
  %d = graph.subtract %h, %target : (!H, !H) -> !H
  %s = graph.reduce %d kind "sum_square" axes [0, 1] keep_dims false : !H -> tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %loss = graph.multiply %s, %half : (tensor<f32>, tensor<f32>) -> tensor<f32>
  func.return %loss : tensor<f32>
}
