// RUN: stepwell-opt %s -p 'bind-states{pairs="k.*=k_next.*","h=g" capacity=4}' --split-input-file --verify-diagnostics

// expected-error: no input has the name 'k.*'
func.func @main(%h: tensor<4xf32> {graph.name = "h"}) -> (tensor<4xf32> {graph.name = "g"}) {
  func.return %h : tensor<4xf32>
}

// -----

// expected-error: the input 'k.1' has no output 'k_next.1', which would be its next value
func.func @main(%h: tensor<4xf32> {graph.name = "k.1"}) -> (tensor<4xf32> {graph.name = "g"}) {
  func.return %h : tensor<4xf32>
}

// -----

// expected-error: no state grows, so there is no capacity to choose
func.func @main(%k: tensor<4xf32> {graph.name = "k.1"}, %h: tensor<4xf32> {graph.name = "h"})
    -> (tensor<4xf32> {graph.name = "k_next.1"}, tensor<4xf32> {graph.name = "g"}) {
  func.return %k, %h : tensor<4xf32>, tensor<4xf32>
}
