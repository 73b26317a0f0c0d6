// RUN: stepwell-opt %s --split-input-file --verify-diagnostics
// Ops without holes are checked as ever in a module that has some; of the others the structure is.

func.func @relation(%x: tensor<4xf32>, %h: !graph.hole<"h">) -> tensor<4xf32> {
  // expected-error: result type must be tensor<4xf32>, found tensor<5xf32>
  %y = graph.neg %x : tensor<4xf32> -> tensor<5xf32>
  func.return %x : tensor<4xf32>
}
// -----
func.func @structure(%c: i64, %h: !graph.hole<"h">) -> !graph.hole<"h"> {
  // expected-error: operand 'input' at position 0 does not verify
  %y = "graph.neg"(%c) : (i64) -> !graph.hole<"h">
  func.return %h : !graph.hole<"h">
}
// -----
func.func @variable(%x: !graph.var<"A">) -> !graph.var<"A"> attributes {graph.type_params = #graph.params<["A"]>} {
  // expected-error: the type variable !graph.var<"A"> is used as a tensor
  %y = graph.neg %x : !graph.var<"A"> -> !graph.var<"A">
  func.return %y : !graph.var<"A">
}
