// RUN: stepwell-opt %s -p fuse-ops | filecheck %s

// A product reads the used part of a growing state where it is, with axes that a view adds; another kernel
// gets the part as a copy.
// CHECK-LABEL: func.func @main(
// CHECK: %[[NEXT:.*]] = graph.insert_slice %x into %k
// CHECK: %[[WIDE:.*]] = graph.expand_dims %[[NEXT]] axes [0] : tensor<?x4xf32, #graph.dims<["C", 4]>> -> tensor<1x?x4xf32
// CHECK: graph.fused (%{{.*}} = %q : tensor<1x2x4xf32>, %[[K:.*]] = %[[WIDE]] :
// CHECK-NEXT: %[[PART:.*]] = graph.slice %[[K]] starts <[0, 0, 0]> limits <[1, "P + S", 4]> steps [1, 1, 1]
// CHECK-NEXT: graph.matmul %{{.*}}, %[[PART]] transpose_b true
// CHECK: graph.fused (%[[L:.*]] = %l :
// CHECK-NEXT: graph.slice %[[L]] starts <[0, 0]> limits <["P", 4]>
// CHECK-NEXT: graph.matmul
// CHECK: graph.fused (%[[M:.*]] = %m :
// CHECK-NEXT: graph.slice %[[M]]
// CHECK-NEXT: graph.yield
func.func @main(%k: tensor<?x4xf32, #graph.dims<["C", 4]>> {graph.state = "k", graph.grows = 0 : i64},
                %l: tensor<?x4xf32, #graph.dims<["C", 4]>> {graph.state = "l", graph.grows = 0 : i64},
                %m: tensor<?x4xf32, #graph.dims<["C", 4]>>,
                %n: tensor<i64> {graph.state = "n", graph.length = #graph.dims<["S"]>},
                %x: tensor<?x4xf32, #graph.dims<["S", 4]>>, %q: tensor<1x2x4xf32>, %w: tensor<4x3xf32>)
    -> (tensor<?x4xf32, #graph.dims<["C", 4]>> {graph.state = "k"}, tensor<1x2x?xf32, #graph.dims<[1, 2, "P + S"]>>,
        tensor<?x3xf32, #graph.dims<["P", 3]>>, tensor<?x3xf32, #graph.dims<["P", 3]>>) {
  %p = graph.bind_sizes %n names ["P"] : tensor<i64> -> index
  %next = graph.insert_slice %x into %k at <["P", 0]>
    : (tensor<?x4xf32, #graph.dims<["S", 4]>>, tensor<?x4xf32, #graph.dims<["C", 4]>>) -> tensor<?x4xf32, #graph.dims<["C", 4]>>
  %all = graph.slice %next starts <[0, 0]> limits <["P + S", 4]> steps [1, 1]
    : tensor<?x4xf32, #graph.dims<["C", 4]>> -> tensor<?x4xf32, #graph.dims<["P + S", 4]>>
  %wide = graph.expand_dims %all axes [0]
    : tensor<?x4xf32, #graph.dims<["P + S", 4]>> -> tensor<1x?x4xf32, #graph.dims<[1, "P + S", 4]>>
  %y = graph.matmul %q, %wide transpose_b true
    : (tensor<1x2x4xf32>, tensor<1x?x4xf32, #graph.dims<[1, "P + S", 4]>>) -> tensor<1x2x?xf32, #graph.dims<[1, 2, "P + S"]>>
  %old = graph.slice %l starts <[0, 0]> limits <["P", 4]> steps [1, 1]
    : tensor<?x4xf32, #graph.dims<["C", 4]>> -> tensor<?x4xf32, #graph.dims<["P", 4]>>
  %z = graph.matmul %old, %w : (tensor<?x4xf32, #graph.dims<["P", 4]>>, tensor<4x3xf32>) -> tensor<?x3xf32, #graph.dims<["P", 3]>>
  %other = graph.slice %m starts <[0, 0]> limits <["P", 4]> steps [1, 1]
    : tensor<?x4xf32, #graph.dims<["C", 4]>> -> tensor<?x4xf32, #graph.dims<["P", 4]>>
  %u = graph.matmul %other, %w : (tensor<?x4xf32, #graph.dims<["P", 4]>>, tensor<4x3xf32>) -> tensor<?x3xf32, #graph.dims<["P", 3]>>
  func.return %next, %y, %z, %u
    : tensor<?x4xf32, #graph.dims<["C", 4]>>, tensor<1x2x?xf32, #graph.dims<[1, 2, "P + S"]>>,
      tensor<?x3xf32, #graph.dims<["P", 3]>>, tensor<?x3xf32, #graph.dims<["P", 3]>>
}
