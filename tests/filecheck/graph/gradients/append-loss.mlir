// RUN: stepwell-opt %s -p 'append-loss{kind=cross_entropy}' | filecheck %s --check-prefixes=CHECK,CLASSES
// RUN: stepwell-opt %s -p 'append-loss{kind=cross_entropy targets=probabilities}' | filecheck %s --check-prefixes=CHECK,ROWS
// RUN: stepwell-opt %s -p 'append-loss{kind=mse output=z}' | filecheck %s --check-prefix=OTHER

// The softmax and the logarithm are one op; targets are the last argument.
// CHECK-LABEL: func.func @main(%x: tensor<?x3xf32,
// CLASSES-SAME: %targets: tensor<?xi64, #graph.dims<["N"]>> {graph.name = "targets"}) -> (tensor<f32> {graph.name = "loss"})
// ROWS-SAME: %targets: tensor<?x3xf32, #graph.dims<["N", 3]>> {graph.name = "targets"}) -> (tensor<f32> {graph.name = "loss"})
// CHECK: %[[L:.*]] = graph.log_softmax %x axis 1
// CLASSES: %[[H:.*]] = graph.one_hot %targets depth <[3]> axis 1
// CLASSES: %[[P:.*]] = graph.where %[[H]], %[[L]]
// ROWS: %[[P:.*]] = graph.multiply %targets, %[[L]]
// CHECK: %[[S:.*]] = graph.reduce %[[P]] kind "sum" axes [1]
// CHECK: %[[M:.*]] = graph.reduce %[[S]] kind "mean" axes [0]
// CHECK: %[[N:.*]] = graph.neg %[[M]]
// CHECK: func.return %[[N]] : tensor<f32>

// OTHER: %[[Z:.*]] = graph.tanh %x
// OTHER: %[[D:.*]] = graph.subtract %[[Z]], %targets
// OTHER: graph.multiply %[[D]], %[[D]]
func.func @main(%x: tensor<?x3xf32, #graph.dims<["N", 3]>> {graph.name = "x"}) -> (tensor<?x3xf32, #graph.dims<["N", 3]>> {graph.name = "y"}, tensor<?x3xf32, #graph.dims<["N", 3]>> {graph.name = "z"}) {
  %y = graph.softmax %x axis 1 : tensor<?x3xf32, #graph.dims<["N", 3]>> -> tensor<?x3xf32, #graph.dims<["N", 3]>>
  %z = graph.tanh %x : tensor<?x3xf32, #graph.dims<["N", 3]>> -> tensor<?x3xf32, #graph.dims<["N", 3]>>
  func.return %y, %z : tensor<?x3xf32, #graph.dims<["N", 3]>>, tensor<?x3xf32, #graph.dims<["N", 3]>>
}
