// RUN: stepwell-opt %s -p merge-regions --split-input-file --verify-diagnostics
// RUN: stepwell-opt %s -p partition-graph --split-input-file --verify-diagnostics

func.func @cycle(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: partitions would wait for each other: {relu, add} -> exp -> {relu, add}
  %a = graph.relu %x {graph.target = "a", graph.region = 0 : i64} : tensor<4xf32> -> tensor<4xf32>
  %h = graph.exp %a : tensor<4xf32> -> tensor<4xf32>
  %c = graph.add %a, %h {graph.target = "a", graph.region = 0 : i64}
    : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %c : tensor<4xf32>
}

// -----

func.func @two_targets(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.relu %x {graph.target = "a", graph.region = 0 : i64} : tensor<4xf32> -> tensor<4xf32>
  // expected-error: region 0 contains ops of several targets: a, b
  %b = graph.relu %a {graph.target = "b", graph.region = 0 : i64} : tensor<4xf32> -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}
