// RUN: stepwell-opt %s -p group-heads,dead-code-elimination --split-input-file | filecheck %s

// Keys that are repeated for three heads each, transposed and scaled: rows of one product by the keys themselves.
// CHECK-LABEL: func.func @main(
// CHECK: %part = graph.slice
// CHECK-NOT: graph.broadcast_to
// CHECK: %[[Q:.*]] = graph.reshape %q shape <[1, 2, 3, "S", 4]>
// CHECK-NEXT: %[[K:.*]] = graph.expand_dims %part axes [2]
// CHECK-NEXT: %[[Y:.*]] = graph.matmul %[[Q]], %[[K]] transpose_b true
// CHECK-NEXT: %[[Z:.*]] = graph.reshape %[[Y]] shape <[1, 6, "S", "P + S"]>
// CHECK-NEXT: %[[S:.*]] = graph.multiply %[[Z]], %c
// CHECK-NEXT: func.return %[[S]], %k1
func.func @main(%k: tensor<1x2x?x4xf32, #graph.dims<[1, 2, "C", 4]>> {graph.state = "k", graph.grows = 2 : i64}, %n: tensor<i64> {graph.state = "n", graph.length = #graph.dims<["S"]>},
                %new: tensor<1x2x?x4xf32, #graph.dims<[1, 2, "S", 4]>>, %q: tensor<1x6x?x4xf32, #graph.dims<[1, 6, "S", 4]>>)
    -> (tensor<1x6x?x?xf32, #graph.dims<[1, 6, "S", "P + S"]>>, tensor<1x2x?x4xf32, #graph.dims<[1, 2, "C", 4]>> {graph.state = "k"}) {
  %p = graph.bind_sizes %n names ["P"] : tensor<i64> -> index
  %k1 = graph.insert_slice %new into %k at <[0, 0, "P", 0]> : (tensor<1x2x?x4xf32, #graph.dims<[1, 2, "S", 4]>>, tensor<1x2x?x4xf32, #graph.dims<[1, 2, "C", 4]>>) -> tensor<1x2x?x4xf32, #graph.dims<[1, 2, "C", 4]>>
  %part = graph.slice %k1 starts <[0, 0, 0, 0]> limits <[1, 2, "P + S", 4]> steps [1, 1, 1, 1] : tensor<1x2x?x4xf32, #graph.dims<[1, 2, "C", 4]>> -> tensor<1x2x?x4xf32, #graph.dims<[1, 2, "P + S", 4]>>
  %w = graph.expand_dims %part axes [2] : tensor<1x2x?x4xf32, #graph.dims<[1, 2, "P + S", 4]>> -> tensor<1x2x1x?x4xf32, #graph.dims<[1, 2, 1, "P + S", 4]>>
  %r = graph.broadcast_to %w shape <[1, 2, 3, "P + S", 4]> : tensor<1x2x1x?x4xf32, #graph.dims<[1, 2, 1, "P + S", 4]>> -> tensor<1x2x3x?x4xf32, #graph.dims<[1, 2, 3, "P + S", 4]>>
  %h = graph.reshape %r shape <[1, 6, "P + S", 4]> : tensor<1x2x3x?x4xf32, #graph.dims<[1, 2, 3, "P + S", 4]>> -> tensor<1x6x?x4xf32, #graph.dims<[1, 6, "P + S", 4]>>
  %t = graph.transpose %h perm [0, 1, 3, 2] : tensor<1x6x?x4xf32, #graph.dims<[1, 6, "P + S", 4]>> -> tensor<1x6x4x?xf32, #graph.dims<[1, 6, 4, "P + S"]>>
  %c = graph.constant dense<0.5> : tensor<f32>
  %s = graph.multiply %t, %c : (tensor<1x6x4x?xf32, #graph.dims<[1, 6, 4, "P + S"]>>, tensor<f32>) -> tensor<1x6x4x?xf32, #graph.dims<[1, 6, 4, "P + S"]>>
  %y = graph.matmul %q, %s : (tensor<1x6x?x4xf32, #graph.dims<[1, 6, "S", 4]>>, tensor<1x6x4x?xf32, #graph.dims<[1, 6, 4, "P + S"]>>) -> tensor<1x6x?x?xf32, #graph.dims<[1, 6, "S", "P + S"]>>
  func.return %y, %k1 : tensor<1x6x?x?xf32, #graph.dims<[1, 6, "S", "P + S"]>>, tensor<1x2x?x4xf32, #graph.dims<[1, 2, "C", 4]>>
}

// -----

// One head a key: only the transposition goes.
// CHECK-LABEL: func.func @main(
// CHECK: graph.matmul %q, %part transpose_b true
// CHECK-NOT: graph.transpose

func.func @main(%k: tensor<1x2x?x4xf32, #graph.dims<[1, 2, "C", 4]>> {graph.state = "k", graph.grows = 2 : i64}, %n: tensor<i64> {graph.state = "n", graph.length = #graph.dims<["S"]>}, %q: tensor<1x2x3x4xf32>) -> tensor<1x2x3x?xf32, #graph.dims<[1, 2, 3, "P"]>> {
  %p = graph.bind_sizes %n names ["P"] : tensor<i64> -> index
  %part = graph.slice %k starts <[0, 0, 0, 0]> limits <[1, 2, "P", 4]> steps [1, 1, 1, 1] : tensor<1x2x?x4xf32, #graph.dims<[1, 2, "C", 4]>> -> tensor<1x2x?x4xf32, #graph.dims<[1, 2, "P", 4]>>
  %t = graph.transpose %part perm [0, 1, 3, 2] : tensor<1x2x?x4xf32, #graph.dims<[1, 2, "P", 4]>> -> tensor<1x2x4x?xf32, #graph.dims<[1, 2, 4, "P"]>>
  %y = graph.matmul %q, %t : (tensor<1x2x3x4xf32>, tensor<1x2x4x?xf32, #graph.dims<[1, 2, 4, "P"]>>) -> tensor<1x2x3x?xf32, #graph.dims<[1, 2, 3, "P"]>>
  func.return %y : tensor<1x2x3x?xf32, #graph.dims<[1, 2, 3, "P"]>>
}

// -----

// Keys that are no state are left as they are, and so is a transposition of other dimensions.
// CHECK-LABEL: func.func @main(
// CHECK: graph.broadcast_to
// CHECK: graph.matmul %q, %h transpose_b true
func.func @main(%k: tensor<1x2x?x4xf32, #graph.dims<[1, 2, "C", 4]>>, %n: tensor<i64> {graph.state = "n", graph.length = #graph.dims<["S"]>},
                %new: tensor<1x2x?x4xf32, #graph.dims<[1, 2, "S", 4]>>, %q: tensor<1x6x?x4xf32, #graph.dims<[1, 6, "S", 4]>>)
    -> (tensor<1x6x?x?xf32, #graph.dims<[1, 6, "S", "P + S"]>>, tensor<1x2x?x4xf32, #graph.dims<[1, 2, "C", 4]>>) {
  %p = graph.bind_sizes %n names ["P"] : tensor<i64> -> index
  %k1 = graph.insert_slice %new into %k at <[0, 0, "P", 0]> : (tensor<1x2x?x4xf32, #graph.dims<[1, 2, "S", 4]>>, tensor<1x2x?x4xf32, #graph.dims<[1, 2, "C", 4]>>) -> tensor<1x2x?x4xf32, #graph.dims<[1, 2, "C", 4]>>
  %part = graph.slice %k1 starts <[0, 0, 0, 0]> limits <[1, 2, "P + S", 4]> steps [1, 1, 1, 1] : tensor<1x2x?x4xf32, #graph.dims<[1, 2, "C", 4]>> -> tensor<1x2x?x4xf32, #graph.dims<[1, 2, "P + S", 4]>>
  %w = graph.expand_dims %part axes [2] : tensor<1x2x?x4xf32, #graph.dims<[1, 2, "P + S", 4]>> -> tensor<1x2x1x?x4xf32, #graph.dims<[1, 2, 1, "P + S", 4]>>
  %r = graph.broadcast_to %w shape <[1, 2, 3, "P + S", 4]> : tensor<1x2x1x?x4xf32, #graph.dims<[1, 2, 1, "P + S", 4]>> -> tensor<1x2x3x?x4xf32, #graph.dims<[1, 2, 3, "P + S", 4]>>
  %h = graph.reshape %r shape <[1, 6, "P + S", 4]> : tensor<1x2x3x?x4xf32, #graph.dims<[1, 2, 3, "P + S", 4]>> -> tensor<1x6x?x4xf32, #graph.dims<[1, 6, "P + S", 4]>>
  %y = graph.matmul %q, %h transpose_b true : (tensor<1x6x?x4xf32, #graph.dims<[1, 6, "S", 4]>>, tensor<1x6x?x4xf32, #graph.dims<[1, 6, "P + S", 4]>>) -> tensor<1x6x?x?xf32, #graph.dims<[1, 6, "S", "P + S"]>>
  func.return %y, %k1 : tensor<1x6x?x?xf32, #graph.dims<[1, 6, "S", "P + S"]>>, tensor<1x2x?x4xf32, #graph.dims<[1, 2, "C", 4]>>
}

// -----

// CHECK-LABEL: func.func @main(
// CHECK: graph.transpose
// CHECK: graph.matmul %q, %t
func.func @main(%k: tensor<1x4x?x4xf32, #graph.dims<[1, 4, "C", 4]>> {graph.state = "k", graph.grows = 2 : i64},
                %n: tensor<i64> {graph.state = "n", graph.length = #graph.dims<["S"]>}, %q: tensor<1x4x3x4xf32>)
    -> tensor<1x4x3x?xf32, #graph.dims<[1, 4, 3, "P"]>> {
  %p = graph.bind_sizes %n names ["P"] : tensor<i64> -> index
  %part = graph.slice %k starts <[0, 0, 0, 0]> limits <[1, 4, "P", 4]> steps [1, 1, 1, 1]
    : tensor<1x4x?x4xf32, #graph.dims<[1, 4, "C", 4]>> -> tensor<1x4x?x4xf32, #graph.dims<[1, 4, "P", 4]>>
  %t = graph.transpose %part perm [0, 3, 1, 2]
    : tensor<1x4x?x4xf32, #graph.dims<[1, 4, "P", 4]>> -> tensor<1x4x4x?xf32, #graph.dims<[1, 4, 4, "P"]>>
  %y = graph.matmul %q, %t
    : (tensor<1x4x3x4xf32>, tensor<1x4x4x?xf32, #graph.dims<[1, 4, 4, "P"]>>) -> tensor<1x4x3x?xf32, #graph.dims<[1, 4, 3, "P"]>>
  func.return %y : tensor<1x4x3x?xf32, #graph.dims<[1, 4, 3, "P"]>>
}
