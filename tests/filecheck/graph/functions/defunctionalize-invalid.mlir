// RUN: stepwell-opt %s -p defunctionalize --split-input-file --verify-diagnostics

// expected-error: @apply is polymorphic: the types of its function values are not known
func.func private @apply(%f: (!graph.var<"A">) -> tensor<i64>, %x: !graph.var<"A">) -> tensor<i64> attributes {graph.type_params = #graph.params<["A"]>} {
  %y = graph.call %f(%x) : (!graph.var<"A">) -> tensor<i64>
  func.return %y : tensor<i64>
}
// -----
// expected-error: argument 1 of @main has functions, which are not known
func.func @main(%x: tensor<i64>, %f: tuple<(tensor<i64>) -> tensor<i64>>) -> tensor<i64> {
  func.return %x : tensor<i64>
}
// -----
// expected-error: argument 0 of @outside has functions, which are not known
func.func private @outside((tensor<i64>) -> tensor<i64>) -> tensor<i64>
func.func @main(%x: tensor<i64>) -> tensor<i64> {
  %f = graph.lambda (%a: tensor<i64>) -> (tensor<i64>) {
    graph.yield %a : tensor<i64>
  }
  %y = graph.call @outside(%f) : ((tensor<i64>) -> tensor<i64>) -> tensor<i64>
  func.return %y : tensor<i64>
}
// -----
adt.data @Rule<"A"> {
  // expected-error: @Rule has a function whose type has a variable
  adt.constructor @Rule((!graph.var<"A">) -> tensor<i64>)
}
// -----
adt.data @Rule {
  adt.constructor @Rule((tensor<i64>) -> tensor<i64>)
}
// expected-error: @main returns a value of type !adt.data<@Rule>, whose definition has functions
func.func @main(%x: tensor<i64>) -> !adt.data<@Rule> {
  %f = graph.lambda (%a: tensor<i64>) -> (tensor<i64>) {
    graph.yield %a : tensor<i64>
  }
  %r = adt.make @Rule::@Rule(%f) : ((tensor<i64>) -> tensor<i64>) -> !adt.data<@Rule>
  func.return %r : !adt.data<@Rule>
}
// -----
func.func @main(%x: tensor<i64>) -> ((tensor<i64>) -> tensor<i64>) {
  // expected-error: @main returns functions, and the program calls it itself
  %f = graph.call @main(%x) : (tensor<i64>) -> ((tensor<i64>) -> tensor<i64>)
  func.return %f : (tensor<i64>) -> tensor<i64>
}
// -----
func.func @main(%x: tensor<i64>) -> (((tensor<i64>) -> tensor<i64>) -> tensor<i64>) {
  %f = graph.lambda (%g: (tensor<i64>) -> tensor<i64>) -> (tensor<i64>) {
    %y = graph.call %g(%x) : (tensor<i64>) -> tensor<i64>
    graph.yield %y : tensor<i64>
  }
  // expected-error: @main returns a function of type ((tensor<i64>) -> tensor<i64>) -> tensor<i64>, which takes functions
  func.return %f : ((tensor<i64>) -> tensor<i64>) -> tensor<i64>
}
// -----
func.func @loss(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  // expected-error: graph.gradient is not written out
  %g = graph.gradient @loss wrt [0] : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  %y, %d = graph.call %g(%x) : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  func.return %d : tensor<f32>
}
// -----
func.func @main(%x: tensor<i64>) -> !ref.cell<(tensor<i64>) -> tensor<i64>> {
  %f = graph.lambda (%a: tensor<i64>) -> (tensor<i64>) {
    graph.yield %a : tensor<i64>
  }
  %r = ref.new %f : (tensor<i64>) -> tensor<i64> -> !ref.cell<(tensor<i64>) -> tensor<i64>>
  // expected-error: @main returns a value of type !ref.cell<(tensor<i64>) -> tensor<i64>>, which has functions inside
  func.return %r : !ref.cell<(tensor<i64>) -> tensor<i64>>
}
