// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @constant_c1_too_many() {
  // expected-error: an inline constant has at most 16 elements, found 17
  %0 = graph.constant dense<0> : tensor<17xi64>
  func.return
}
// -----
func.func @constant_c2_type() {
  // expected-error: result type must be tensor<2xf32>, found tensor<3xf32>
  %0 = graph.constant #graph.weight<"w", "00", tensor<2xf32>> : tensor<3xf32>
  func.return
}
// -----
func.func @fused_c1_isolated(%x: tensor<4xf32>) {
  // expected-error: the region's arguments must have the types of the operands
  "graph.fused"(%x) ({
  ^bb0(%a: tensor<5xf32>):
    "graph.yield"() : () -> ()
  }) : (tensor<4xf32>) -> ()
  func.return
}
// -----
func.func @fused_c2_yield(%x: tensor<4xf32>) {
  // expected-error: expected 1 yielded values, found 0
  %0 = graph.fused (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    graph.yield
  }
  func.return
}
// -----
func.func @fused_c2_type(%x: tensor<4xf32>) {
  // expected-error: result type must be tensor<4xf32>, found tensor<5xf32>
  %0 = graph.fused (%a = %x : tensor<4xf32>) -> (tensor<5xf32>) {
    graph.yield %a : tensor<4xf32>
  }
  func.return
}
// -----
func.func @get_c1_index(%x: tensor<4xf32>) {
  %t = graph.tuple %x : tensor<4xf32>
  // expected-error: index must be in 0..0, found 1
  %0 = graph.get %t[1] : tuple<tensor<4xf32>> -> tensor<4xf32>
  func.return
}
// -----
func.func @assert_c1_unknown() {
  // expected-error: a checked dimension must be known by name, found '?'
  graph.assert "?" equals "N", "sizes"
  func.return
}
