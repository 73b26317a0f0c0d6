// RUN: stepwell-opt %s -p infer-effects | filecheck %s

// CHECK-DAG: @pure({{.*}} attributes {graph.effects = []}
func.func private @pure(%x: tensor<f32>) -> tensor<f32> {
  %y = graph.neg %x : tensor<f32> -> tensor<f32>
  func.return %y : tensor<f32>
}
// CHECK-DAG: @read({{.*}} attributes {graph.effects = ["read"]}
func.func private @read(%r: !ref.cell<tensor<f32>>) -> tensor<f32> {
  %v = ref.read %r : !ref.cell<tensor<f32>> -> tensor<f32>
  func.return %v : tensor<f32>
}
// A group of functions that call each other has the effects of them all.
// CHECK-DAG: @even({{.*}} attributes {graph.effects = ["read", "write"]}
func.func private @even(%r: !ref.cell<tensor<f32>>, %c: tensor<i1>) -> tensor<f32> {
  %v = graph.if %c : tensor<i1> -> (tensor<f32>) {
    %a = graph.call @odd(%r, %c) : (!ref.cell<tensor<f32>>, tensor<i1>) -> tensor<f32>
    graph.yield %a : tensor<f32>
  } else {
    %b = graph.call @read(%r) : (!ref.cell<tensor<f32>>) -> tensor<f32>
    graph.yield %b : tensor<f32>
  }
  func.return %v : tensor<f32>
}
// CHECK-DAG: @odd({{.*}} attributes {graph.effects = ["read", "write"]}
func.func private @odd(%r: !ref.cell<tensor<f32>>, %c: tensor<i1>) -> tensor<f32> {
  %v = graph.call @even(%r, %c) : (!ref.cell<tensor<f32>>, tensor<i1>) -> tensor<f32>
  ref.write %r, %v : !ref.cell<tensor<f32>>, tensor<f32>
  func.return %v : tensor<f32>
}
// A lambda has its effects where it is called, not where it is made.
// CHECK-DAG: @maker({{.*}} attributes {graph.effects = ["alloc"]}
func.func private @maker(%x: tensor<f32>) -> (() -> tensor<f32>) {
  %r = ref.new %x : tensor<f32> -> !ref.cell<tensor<f32>>
  %f = graph.lambda () -> (tensor<f32>) {
    ref.write %r, %x : !ref.cell<tensor<f32>>, tensor<f32>
    graph.yield %x : tensor<f32>
  }
  func.return %f : () -> tensor<f32>
}
// CHECK-DAG: @caller({{.*}} attributes {graph.effects = ["alloc", "write"]}
func.func private @caller(%x: tensor<f32>) -> tensor<f32> {
  %f = graph.call @maker(%x) : (tensor<f32>) -> (() -> tensor<f32>)
  %v = graph.call %f() : () -> tensor<f32>
  func.return %v : tensor<f32>
}
// A function value of this type may come from outside: of the other types, only from here.
// CHECK-DAG: @outside({{.*}} attributes {graph.effects = ["alloc", "read", "write", "check", "host"]}
func.func @outside(%f: (tensor<i64>) -> tensor<i64>, %n: tensor<i64>) -> tensor<i64> {
  %v = graph.call %f(%n) : (tensor<i64>) -> tensor<i64>
  func.return %v : tensor<i64>
}
// CHECK-DAG: @checked({{.*}} attributes {graph.effects = ["check", "host"]}
func.func private @checked(%i: tensor<3xi64>) -> tensor<3xi64> {
  graph.check_indices %i within <[3]> : tensor<3xi64>
  %s = graph.host_call "numpy" "log" effect payload "{}"(%i) : (tensor<3xi64>) -> tensor<3xi64>
  %t = graph.host_call "numpy" "sin" payload "{}"(%i) : (tensor<3xi64>) -> tensor<3xi64>
  func.return %s : tensor<3xi64>
}
// A declaration has the effects that it says, else all.
func.func private @declared(tensor<f32>) -> tensor<f32> attributes {graph.effects = ["read"]}
func.func private @unknown(tensor<f32>) -> tensor<f32>
// CHECK-DAG: @of_declared({{.*}} attributes {graph.effects = ["read"]}
func.func private @of_declared(%x: tensor<f32>) -> tensor<f32> {
  %v = graph.call @declared(%x) : (tensor<f32>) -> tensor<f32>
  func.return %v : tensor<f32>
}
// CHECK-DAG: @of_unknown({{.*}} attributes {graph.effects = ["alloc", "read", "write", "check", "host"]}
func.func private @of_unknown(%x: tensor<f32>) -> tensor<f32> {
  %v = graph.call @unknown(%x) : (tensor<f32>) -> tensor<f32>
  func.return %v : tensor<f32>
}
