// RUN: stepwell-opt %s -p cse --split-input-file --verify-diagnostics
// A pass that needs types refuses a module with a hole.

func.func @main(%x: tensor<4xf32>) -> !graph.hole<"b"> {
  // expected-error: 2 values have no type
  %a = graph.neg %x : tensor<4xf32> -> !graph.hole<"a">
  %b = graph.neg %a : !graph.hole<"a"> -> !graph.hole<"b">
  func.return %b : !graph.hole<"b">
}
