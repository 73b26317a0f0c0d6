// RUN: stepwell-opt %s -p 'remove-unused-functions' | filecheck %s
// RUN: stepwell-opt %s -p 'RemoveUnusedFunctions' | filecheck %s
// RUN: stepwell-opt %s -p 'remove-unused-functions{entry=unused,used_by_unused}' | filecheck %s --check-prefix OTHER
// RUN: not stepwell-opt %s -p 'remove-unused-functions{entry=nobody}' 2>&1 | filecheck %s --check-prefix NOBODY
// RUN: stepwell-opt %s -p 'print-call-graph' 2>&1 | filecheck %s --check-prefix GRAPH
// RUN: stepwell-opt %s -p 'PrintCallGraph{json=true}' 2>&1 | filecheck %s --check-prefix JSON

// GRAPH: @main calls @called, @as_value, @in_closure
// GRAPH-NEXT: @called calls nothing
// GRAPH-NEXT: @as_value (recursive) calls @as_value
// GRAPH-NEXT: @in_closure calls nothing
// GRAPH-NEXT: @unused calls @used_by_unused
// JSON: {"main": ["called", "as_value", "in_closure"], "called": [], "as_value": ["as_value"]
// NOBODY: no function is named @nobody
// NOBODY: there are: @main, @called

// CHECK: func.func @main
// CHECK: func.func @called
// CHECK: func.func @as_value
// CHECK: func.func @in_closure
// CHECK-NOT: func.func
// OTHER-NOT: @main
// OTHER: func.func @unused
// OTHER: func.func @used_by_unused
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.call @called(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %f = graph.function @as_value : (tensor<4xf32>) -> tensor<4xf32>
  %g = graph.lambda (%h: (tensor<4xf32>) -> tensor<4xf32>) -> (tensor<4xf32>) {
    %b = graph.call @in_closure(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %c = graph.call %h(%b) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %c : tensor<4xf32>
  }
  %y = graph.call %g(%f) : ((tensor<4xf32>) -> tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @called(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
func.func @as_value(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.call @as_value(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @in_closure(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
func.func @unused(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.call @used_by_unused(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @used_by_unused(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
