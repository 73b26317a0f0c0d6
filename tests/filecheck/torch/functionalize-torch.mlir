// RUN: stepwell-opt %s -p functionalize-torch --split-input-file | filecheck %s

// A write of a part of a buffer: later readers get the new value, and the buffer is a state.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%k: tensor<4x3xf32> {graph.name = "k", graph.state = "k", graph.initial = dense<0.000000e+00> : tensor<4x3xf32>}, %x: tensor<3xf32>
// CHECK-NOT: add_.Tensor
// CHECK: %[[V:.*]] = "torch.aten.select.int"(%k) {dim = 0 : i64, index = 1 : i64}
// CHECK: %[[S:.*]] = "torch.aten.add.Tensor"(%[[V]], %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK: %[[K:.*]] = "torch.aten.select_scatter.default"(%k, %[[S]]) {dim = 0 : i64, index = 1 : i64}
// CHECK: %[[R:.*]] = "torch.aten.relu.default"(%[[K]])
// CHECK: func.return %[[R]], %[[K]]
func.func @main(%x: tensor<3xf32> {graph.name = "x"}) -> (tensor<4x3xf32> {graph.name = "y"}) {
  %k = "torch.weight"() <{value = dense<0.0> : tensor<4x3xf32>}> {torch.name = "k"} : () -> tensor<4x3xf32>
  %v = "torch.aten.select.int"(%k) {dim = 0 : i64, index = 1 : i64} : (tensor<4x3xf32>) -> tensor<3xf32>
  %s = "torch.aten.add_.Tensor"(%v, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %y = "torch.aten.relu.default"(%k) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}
// -----
// A write through two views, and a view that was made before the write and is read after it.
// CHECK-LABEL: func.func @main
// CHECK: %[[F:.*]] = "torch.aten.clone.default"(%x)
// CHECK: %[[T:.*]] = "torch.aten.t.default"(%[[F]])
// CHECK: %[[O:.*]] = "torch.aten.slice.Tensor"(%[[F]]) {end = 1 : i64}
// CHECK: %[[P:.*]] = "torch.aten.select.int"(%[[T]]) {dim = 0 : i64, index = 2 : i64}
// CHECK: %[[N:.*]] = "torch.aten.mul.Tensor"(%[[P]], %{{.*}})
// CHECK: %[[B:.*]] = "torch.aten.t.default"(%[[F]])
// CHECK: %[[W:.*]] = "torch.aten.select_scatter.default"(%[[B]], %[[N]]) {dim = 0 : i64, index = 2 : i64}
// CHECK: %[[C:.*]] = "torch.aten.t.default"(%[[W]])
// CHECK: %[[O2:.*]] = "torch.aten.slice.Tensor"(%[[C]]) {end = 1 : i64}
// CHECK: "torch.aten.relu.default"(%[[O2]])
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<1x3xf32> {graph.name = "y"}) {
  %two = "torch.weight"() <{value = dense<2.0> : tensor<f64>}> : () -> tensor<f64>
  %f = "torch.aten.clone.default"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %t = "torch.aten.t.default"(%f) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %o = "torch.aten.slice.Tensor"(%f) {end = 1 : i64} : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %p = "torch.aten.select.int"(%t) {dim = 0 : i64, index = 2 : i64} : (tensor<3x2xf32>) -> tensor<2xf32>
  %m = "torch.aten.mul_.Tensor"(%p, %two) : (tensor<2xf32>, tensor<f64>) -> tensor<2xf32>
  %y = "torch.aten.relu.default"(%o) : (tensor<1x3xf32>) -> tensor<1x3xf32>
  func.return %y : tensor<1x3xf32>
}
// -----
// In inference `dropout` is its operand: a write to it changes that. `__and__` is no write.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = "torch.aten.mul.Tensor"(%x, %x)
// CHECK: %[[D:.*]] = "torch.aten.dropout.default"(%[[Y]])
// CHECK: %[[N:.*]] = "torch.aten.neg.default"(%[[D]])
// CHECK: "torch.aten.__and__.Tensor"(%[[N]], %[[N]])
func.func @main(%x: tensor<2xi64> {graph.name = "x"}) -> (tensor<2xi64> {graph.name = "y"}) {
  %y = "torch.aten.mul.Tensor"(%x, %x) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %d = "torch.aten.dropout.default"(%y) {p = 0.5 : f64, train = false} : (tensor<2xi64>) -> tensor<2xi64>
  %n = "torch.aten.neg_.default"(%d) : (tensor<2xi64>) -> tensor<2xi64>
  %z = "torch.aten.__and__.Tensor"(%y, %n) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  func.return %z : tensor<2xi64>
}
// -----
// A write of a part of an argument: its new value is another result, before those of states.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<2x3xf32> {graph.name = "y"}, tensor<2x3xf32> {graph.name = "x_next"}, tensor<3xf32> {graph.name = "k", graph.state = "k"})
// CHECK: %[[V:.*]] = "torch.aten.select.int"(%x) {dim = 0 : i64, index = 1 : i64}
// CHECK: %[[N:.*]] = "torch.aten.neg.default"(%[[V]])
// CHECK: %[[X:.*]] = "torch.aten.select_scatter.default"(%x, %[[N]]) {dim = 0 : i64, index = 1 : i64}
// CHECK: %[[K:.*]] = "torch.aten.neg.default"(%k)
// CHECK: %[[R:.*]] = "torch.aten.relu.default"(%[[X]])
// CHECK: func.return %[[R]], %[[X]], %[[K]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "y"}) {
  %k = "torch.weight"() <{value = dense<0.0> : tensor<3xf32>}> {torch.name = "k"} : () -> tensor<3xf32>
  %v = "torch.aten.select.int"(%x) {dim = 0 : i64, index = 1 : i64} : (tensor<2x3xf32>) -> tensor<3xf32>
  %n = "torch.aten.neg_.default"(%v) : (tensor<3xf32>) -> tensor<3xf32>
  %m = "torch.aten.neg_.default"(%k) : (tensor<3xf32>) -> tensor<3xf32>
  %y = "torch.aten.relu.default"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
// -----
// Rows of a table that are scaled to a norm before they are read, and nothing else of it: no state is needed.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%i: tensor<2xi64> {graph.name = "i"}) -> (tensor<2x4xf32> {graph.name = "y"})
// CHECK: %[[W:.*]] = "torch.weight"()
// CHECK: %[[D:.*]] = "torch.aten.detach.default"(%[[W]])
// CHECK: %[[R:.*]] = "torch.aten.embedding_renorm.default"(%[[D]], %i)
// CHECK: %[[Y:.*]] = "torch.aten.embedding.default"(%[[R]], %i)
// CHECK: func.return %[[Y]] :
func.func @main(%i: tensor<2xi64> {graph.name = "i"}) -> (tensor<2x4xf32> {graph.name = "y"}) {
  %w = "torch.weight"() <{value = dense<1.0> : tensor<6x4xf32>}> {torch.name = "table"} : () -> tensor<6x4xf32>
  %d = "torch.aten.detach.default"(%w) : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %r = "torch.aten.embedding_renorm_.default"(%d, %i) {max_norm = 1.0 : f64, norm_type = 2.0 : f64} : (tensor<6x4xf32>, tensor<2xi64>) -> tensor<6x4xf32>
  %y = "torch.aten.embedding.default"(%w, %i) : (tensor<6x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}
// -----
// The same, but other rows are read too: the scaled ones stay so, in a state.
// CHECK-LABEL: func.func @main
// CHECK-SAME: graph.state = "table"
func.func @main(%i: tensor<2xi64> {graph.name = "i"}) -> (tensor<6x4xf32> {graph.name = "y"}) {
  %w = "torch.weight"() <{value = dense<1.0> : tensor<6x4xf32>}> {torch.name = "table"} : () -> tensor<6x4xf32>
  %r = "torch.aten.embedding_renorm_.default"(%w, %i) {max_norm = 1.0 : f64, norm_type = 2.0 : f64} : (tensor<6x4xf32>, tensor<2xi64>) -> tensor<6x4xf32>
  %y = "torch.aten.relu.default"(%w) : (tensor<6x4xf32>) -> tensor<6x4xf32>
  func.return %y : tensor<6x4xf32>
}
