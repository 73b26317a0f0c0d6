// RUN: stepwell-opt %s -p convert-tflite-to-graph | filecheck %s

// A condition of one element gets rank 0.
// CHECK-LABEL: func.func @choice
// CHECK: %[[C:.*]] = graph.reshape %c shape <[]> : tensor<1xi1> -> tensor<i1>
// CHECK: %{{.*}} = graph.if %[[C]] : tensor<i1> -> (tensor<4xf32>) {
// CHECK:   graph.neg %x
// CHECK: } else {
// CHECK:   graph.multiply %x, %x
func.func @choice(%c: tensor<1xi1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "tflite.if"(%c) ({
    %a = "tflite.neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "tflite.return"(%a) : (tensor<4xf32>) -> ()
  }, {
    %b = "tflite.square"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "tflite.return"(%b) : (tensor<4xf32>) -> ()
  }) : (tensor<1xi1>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// Arguments have the types of the operands, whatever the regions record.
// CHECK-LABEL: func.func @loop
// CHECK: graph.while (%[[I:.*]] = %n : tensor<i32>, %{{.*}} = %x : tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
// CHECK:   %[[T:.*]] = graph.less
// CHECK:   %[[S:.*]] = graph.reshape %[[T]] shape <[]> : tensor<1xi1> -> tensor<i1>
// CHECK:   graph.yield %[[S]] : tensor<i1>
// CHECK: } do (%{{.*}}: tensor<i32>, %[[V:.*]]: tensor<4xf32>) {
// CHECK:   graph.tanh %[[V]]
func.func @loop(%n: tensor<i32>, %x: tensor<4xf32>, %k: tensor<1xi32>) -> tensor<4xf32> {
  %m, %y = "tflite.while"(%n, %x) ({
  ^bb0(%i: tensor<i32>, %v: tensor<*xf32>):
    %t = "tflite.less"(%i, %k) : (tensor<i32>, tensor<1xi32>) -> tensor<1xi1>
    "tflite.return"(%t) : (tensor<1xi1>) -> ()
  }, {
  ^bb0(%j: tensor<i32>, %w: tensor<*xf32>):
    %a = "tflite.add"(%j, %n) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %b = "tflite.tanh"(%w) : (tensor<*xf32>) -> tensor<*xf32>
    "tflite.return"(%a, %b) : (tensor<i32>, tensor<*xf32>) -> ()
  }) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
  func.return %y : tensor<4xf32>
}

// A size that iterations change has a name of its own.
// CHECK-LABEL: func.func @grows
// CHECK: graph.while (%{{.*}} = %x : tensor<1x2xf32> as tensor<?x2xf32, #graph.dims<["[[S:data_.*]]", 2]>>) carries ["[[S]]"]
// CHECK:   graph.concat
func.func @grows(%x: tensor<1x2xf32>, %c: tensor<i1>) -> tensor<?x2xf32> {
  %y = "tflite.while"(%x) ({
  ^bb0(%a: tensor<1x2xf32>):
    "tflite.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%b: tensor<1x2xf32>):
    %d = "tflite.concatenation"(%b, %x) : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<?x2xf32>
    "tflite.return"(%d) : (tensor<?x2xf32>) -> ()
  }) : (tensor<1x2xf32>) -> tensor<?x2xf32>
  func.return %y : tensor<?x2xf32>
}

// Positions that are data: the counter has a name, of which both bounds are expressions.
// CHECK-LABEL: func.func @positions
// CHECK: do (%[[I:.*]]: tensor<i32>, %[[X:.*]]: tensor<4xf32>) {
// CHECK:   %[[L:.*]] = graph.cast %[[I]] to i64
// CHECK:   %{{.*}} = graph.bind_sizes %[[L]] names ["[[N:data_.*]]"]
// CHECK-NOT: graph.bind_sizes
// CHECK:   graph.slice %[[X]] starts <[0]> limits <["[[N]]"]>
// CHECK:   graph.slice %[[X]] starts <["[[N]] + 1"]> limits <[4]>
// CHECK:   %[[W:.*]] = graph.concat
// CHECK:   graph.reshape %[[W]] shape <[4]>
func.func @positions(%x: tensor<4xf32>, %n: tensor<i32>, %row: tensor<1xf32>, %one: tensor<i32>) -> tensor<4xf32> {
  %0 = "tflite.weight"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %m, %y = "tflite.while"(%0, %x) ({
  ^bb0(%a: tensor<i32>, %b: tensor<4xf32>):
    %t = "tflite.less"(%a, %n) : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "tflite.return"(%t) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %v: tensor<4xf32>):
    %1 = "tflite.weight"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %j = "tflite.add"(%i, %1) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %f = "tflite.reshape"(%i) {new_shape = [1]} : (tensor<i32>) -> tensor<1xi32>
    %g = "tflite.reshape"(%j) {new_shape = [1]} : (tensor<i32>) -> tensor<1xi32>
    %z = "tflite.weight"() <{value = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
    %r = "tflite.weight"() <{value = dense<-1> : tensor<1xi32>}> : () -> tensor<1xi32>
    %p = "tflite.slice"(%v, %z, %f) : (tensor<4xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
    %q = "tflite.slice"(%v, %g, %r) : (tensor<4xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
    %w = "tflite.concatenation"(%p, %row, %q) : (tensor<?xf32>, tensor<1xf32>, tensor<?xf32>) -> tensor<4xf32>
    "tflite.return"(%j, %w) : (tensor<i32>, tensor<4xf32>) -> ()
  }) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
  func.return %y : tensor<4xf32>
}
