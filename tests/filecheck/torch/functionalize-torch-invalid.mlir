// RUN: stepwell-opt %s -p functionalize-torch --split-input-file --verify-diagnostics

func.func @main(%x: tensor<3xf32> {graph.name = "x", graph.state = "x"}) -> (tensor<3xf32> {graph.name = "y"}) {
  %y = "torch.aten.relu_.default"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  // expected-error: the program writes into argument 0, a state
  func.return %y : tensor<3xf32>
}
// -----
func.func @main(%x: tensor<3x3xf32> {graph.name = "x"}) -> (tensor<3x3xf32> {graph.name = "y"}) {
  %c = "torch.aten.clone.default"(%x) : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %d = "torch.aten.diagonal.default"(%c) : (tensor<3x3xf32>) -> tensor<3xf32>
  // expected-error: a write through the view aten.diagonal.default
  %y = "torch.aten.relu_.default"(%d) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %c : tensor<3x3xf32>
}
// -----
func.func @main(%x: tensor<3xf32> {graph.name = "x"}) -> (tensor<3xf32> {graph.name = "y"}) {
  %c = "torch.aten.clone.default"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  // expected-error: aten.requires_grad_.default: no operator makes its result as a new value
  %y = "torch.aten.requires_grad_.default"(%c) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
