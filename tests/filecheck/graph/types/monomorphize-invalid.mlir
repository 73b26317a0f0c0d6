// RUN: stepwell-opt %s -p link-prelude,monomorphize --split-input-file --verify-diagnostics

func.func @number(%l: !adt.data<@List, i64>) -> tensor<i64> {
  // expected-error: @length takes 1 type arguments, found 0
  %n = graph.call @length(%l) : (!adt.data<@List, i64>) -> tensor<i64>
  func.return %n : tensor<i64>
}
// -----
func.func @types(%l: !adt.data<@List, i64>) -> tensor<i64> {
  // expected-error: @length of these type arguments is (!adt.data<@List, f32>) -> tensor<i64>, used as (!adt.data<@List, i64>) -> tensor<i64>
  %n = graph.call @length<f32>(%l) : (!adt.data<@List, i64>) -> tensor<i64>
  func.return %n : tensor<i64>
}
// -----
func.func private @grow(%x: !graph.var<"A">) -> tensor<i64> attributes {graph.type_params = #graph.params<["A"]>} {
  %t = graph.tuple %x, %x : !graph.var<"A">, !graph.var<"A">
  // expected-error: @grow needs more than 64 instances: it is used at ever larger types
  %n = graph.call @grow<tuple<!graph.var<"A">, !graph.var<"A">>>(%t) : (tuple<!graph.var<"A">, !graph.var<"A">>) -> tensor<i64>
  func.return %n : tensor<i64>
}
func.func @main(%x: i64) -> tensor<i64> {
  %n = graph.call @grow<i64>(%x) : (i64) -> tensor<i64>
  func.return %n : tensor<i64>
}
// -----
func.func @kinds(%l: !adt.data<@List, i1>) -> tensor<i1> {
  // expected-error: the type argument i1 is for E, whose kind is number
  %n = graph.call @sum<i1>(%l) : (!adt.data<@List, i1>) -> tensor<i1>
  func.return %n : tensor<i1>
}
