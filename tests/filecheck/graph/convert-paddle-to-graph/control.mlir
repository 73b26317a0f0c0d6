// RUN: stepwell-opt %s -p convert-paddle-to-graph | filecheck %s

// The condition of a loop is the first of its values; one of one element gets rank 0.
// CHECK-LABEL: func.func @loop
// CHECK: graph.while (%[[C:.*]] = %c : tensor<1xi1>, %{{.*}} = %x : tensor<4xf32>) -> (tensor<1xi1>, tensor<4xf32>) {
// CHECK:   %[[R:.*]] = graph.reshape %[[C]] shape <[]> : tensor<1xi1> -> tensor<i1>
// CHECK:   graph.yield %[[R]] : tensor<i1>
// CHECK: } do (%{{.*}}: tensor<1xi1>, %[[V:.*]]: tensor<4xf32>) {
// CHECK:   graph.tanh %[[V]]
func.func @loop(%c: tensor<1xi1>, %x: tensor<4xf32>, %n: tensor<4xf32>) -> tensor<4xf32> {
  %d, %y = "paddle.while"(%c, %x) ({
  ^bb0(%a: tensor<1xi1>, %b: tensor<4xf32>):
    "paddle.return"(%a) : (tensor<1xi1>) -> ()
  }, {
  ^bb1(%e: tensor<1xi1>, %v: tensor<4xf32>):
    %t = "paddle.tanh"(%v) : (tensor<4xf32>) -> tensor<4xf32>
    %l = "paddle.less_than"(%t, %n) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %s = "paddle.weight"() <{value = dense<0> : tensor<1xi64>}> : () -> tensor<1xi64>
    %f = "paddle.weight"() <{value = dense<1> : tensor<1xi64>}> : () -> tensor<1xi64>
    %m = "paddle.slice"(%l, %s, %f) {axes = [0], decrease_axis = []} : (tensor<4xi1>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi1>
    "paddle.return"(%m, %t) : (tensor<1xi1>, tensor<4xf32>) -> ()
  }) : (tensor<1xi1>, tensor<4xf32>) -> (tensor<1xi1>, tensor<4xf32>)
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @choice
// CHECK: graph.if %c : tensor<i1> -> (tensor<3xf32>) {
// CHECK:   graph.tanh %x
// CHECK: } else {
// CHECK:   graph.yield %x
func.func @choice(%c: tensor<i1>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %y = "paddle.if"(%c) ({
    %a = "paddle.tanh"(%x) : (tensor<3xf32>) -> tensor<3xf32>
    "paddle.return"(%a) : (tensor<3xf32>) -> ()
  }, {
    "paddle.return"(%x) : (tensor<3xf32>) -> ()
  }) : (tensor<i1>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// A position that is data has a name, of which both bounds are expressions.
// CHECK-LABEL: func.func @position
// CHECK: graph.bind_sizes %i names ["[[N:data_.*]]"]
// CHECK: %[[S:.*]] = graph.slice %x starts <["[[N]]", 0]> limits <["[[N]] + 1", 3]> steps [1, 1]
// CHECK: graph.squeeze %[[S]] axes [0]
func.func @position(%x: tensor<4x3xf32>, %i: tensor<1xi64>, %j: tensor<1xi64>) -> tensor<3xf32> {
  %y = "paddle.slice"(%x, %i, %j) {axes = [0], decrease_axis = [0]} : (tensor<4x3xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
