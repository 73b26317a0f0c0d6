// RUN: stepwell-opt %s -p convert-coreml-to-graph | filecheck %s

// A list is a tensor of zeros with a position for each element; writing, reading and gathering use positions.
// CHECK-LABEL: func.func @lists
func.func @lists(%x: tensor<?x3xf32, #graph.dims<["N", 3]>>, %row: tensor<3xf32>) -> (tensor<3xf32>, tensor<2x3xf32>, tensor<i32>) {
  %s = "coreml.shape"(%x) : (tensor<?x3xf32, #graph.dims<["N", 3]>>) -> tensor<2xi32>
  %0 = "coreml.weight"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %n = "coreml.gather"(%s, %0) : (tensor<2xi32>, tensor<i32>) -> tensor<i32>
  // CHECK: %[[L:.*]] = graph.full %{{.*}} shape <["N", 3]> : tensor<f32> -> tensor<?x3xf32, #graph.dims<["N", 3]>>
  %l = "coreml.make_list"(%n) {elem_shape = [3 : i64]} : (tensor<i32>) -> tensor<?x3xf32>
  // CHECK: %[[W:.*]] = graph.scatter_nd %[[L]], %{{.*}}, %{{.*}} combine "none" : (tensor<?x3xf32, #graph.dims<["N", 3]>>, tensor<1x1xi32>, tensor<1x3xf32>)
  %w = "coreml.list_write"(%l, %0, %row) : (tensor<?x3xf32>, tensor<i32>, tensor<3xf32>) -> tensor<?x3xf32>
  // CHECK: %{{.*}} = graph.gather %[[W]], %{{.*}} axis 0 batch_dims 0 bounds "check"
  %r = "coreml.list_read"(%w, %0) : (tensor<?x3xf32>, tensor<i32>) -> tensor<3xf32>
  %i = "coreml.weight"() <{value = dense<[1, 0]> : tensor<2xi32>}> : () -> tensor<2xi32>
  // CHECK: %[[G:.*]] = graph.gather %[[W]], %{{.*}} axis 0 batch_dims 0 bounds "check"
  %g = "coreml.list_gather"(%w, %i) : (tensor<?x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  // CHECK: graph.scatter_nd %[[W]], %{{.*}}, %[[G]] combine "none"
  %t = "coreml.list_scatter"(%w, %i, %g) : (tensor<?x3xf32>, tensor<2xi32>, tensor<2x3xf32>) -> tensor<?x3xf32>
  // CHECK: graph.extents
  %c = "coreml.list_length"(%t) : (tensor<?x3xf32>) -> tensor<i32>
  func.return %r, %g, %c : tensor<3xf32>, tensor<2x3xf32>, tensor<i32>
}

// CHECK-LABEL: func.func @choice
// CHECK: graph.if %c : tensor<i1> -> (tensor<3xf32>) {
// CHECK:   graph.tanh %x
// CHECK: } else {
// CHECK:   graph.yield %x
func.func @choice(%c: tensor<i1>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %y = "coreml.if"(%c) ({
    %a = "coreml.tanh"(%x) : (tensor<3xf32>) -> tensor<3xf32>
    "coreml.return"(%a) : (tensor<3xf32>) -> ()
  }, {
    "coreml.return"(%x) : (tensor<3xf32>) -> ()
  }) : (tensor<i1>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// The limit of a range that begins at 0 may be a size.
// CHECK-LABEL: func.func @range
func.func @range(%x: tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?xi32> {
  %n = "coreml.shape"(%x) : (tensor<?xf32, #graph.dims<["N"]>>) -> tensor<1xi32>
  %0 = "coreml.weight"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %1 = "coreml.weight"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
  %s = "coreml.gather"(%n, %0) : (tensor<1xi32>, tensor<i32>) -> tensor<i32>
  // CHECK: graph.iota shape <["N"]> axis 0 of i32
  %y = "coreml.range_1d"(%0, %s, %1) : (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<?xi32>
  func.return %y : tensor<?xi32>
}
