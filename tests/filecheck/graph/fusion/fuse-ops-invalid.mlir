// RUN: stepwell-opt %s -p 'fuse-ops{max-ops=0}' --split-input-file --verify-diagnostics

// expected-error@unknown: a kernel holds at least one op, found max-ops=0
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
