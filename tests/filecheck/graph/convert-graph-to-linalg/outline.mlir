// RUN: stepwell-opt %s -p convert-graph-to-linalg | filecheck %s

// Symbols become the last arguments, of the main function and of the kernels that need them, and names of
// dimensions move from the types to attributes.
// CHECK-LABEL: func.func @main(%x: tensor<?x?xf32> {graph.name = "x", graph.dims = #graph.dims<["N", "S"]>}, %b: tensor<4xi8> {graph.element = ui8}
// CHECK-SAME: %N: index, %S: index)
// CHECK-SAME: -> (tensor<?x?xf32> {graph.name = "y", graph.dims = #graph.dims<["N", "S"]>}, tensor<4xi8> {graph.element = ui8})
// CHECK-SAME: attributes {sched.program = #sched.program<symbols = ["N", "S"]>}
// CHECK: %[[Y:.*]] = func.call @k0(%x, %N, %S) : (tensor<?x?xf32>, index, index) -> tensor<?x?xf32>
// CHECK: %[[Z:.*]] = func.call @k1(%b) : (tensor<4xi8>) -> tensor<4xi8>
// CHECK: func.return %[[Y]], %[[Z]] : tensor<?x?xf32>, tensor<4xi8>
func.func @main(
    %x: tensor<?x?xf32, #graph.dims<["N", "S"]>> {graph.name = "x"}, %b: tensor<4xui8>
) -> (tensor<?x?xf32, #graph.dims<["N", "S"]>> {graph.name = "y"}, tensor<4xui8>) {
  %y = graph.fused (%p = %x : tensor<?x?xf32, #graph.dims<["N", "S"]>>) -> (tensor<?x?xf32, #graph.dims<["N", "S"]>>) {
    %0 = graph.exp %p : tensor<?x?xf32, #graph.dims<["N", "S"]>> -> tensor<?x?xf32, #graph.dims<["N", "S"]>>
    graph.yield %0 : tensor<?x?xf32, #graph.dims<["N", "S"]>>
  }
  %z = graph.fused (%p = %b : tensor<4xui8>) -> (tensor<4xui8>) {
    %0 = graph.maximum %p, %p : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
    graph.yield %0 : tensor<4xui8>
  }
  func.return %y, %z : tensor<?x?xf32, #graph.dims<["N", "S"]>>, tensor<4xui8>
}

// CHECK-LABEL: func.func private @k0
// CHECK-SAME: (%p: tensor<?x?xf32> {graph.dims = #graph.dims<["N", "S"]>}, %N: index, %S: index)
// CHECK-SAME: -> (tensor<?x?xf32> {graph.dims = #graph.dims<["N", "S"]>}) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N", "S"]>}
// CHECK: tensor.empty(%N, %S) : tensor<?x?xf32>
// CHECK: math.exp

// Integers lose their sign; the ops keep it.
// CHECK-LABEL: func.func private @k1(%p: tensor<4xi8>) -> tensor<4xi8> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>}
// CHECK: arith.maxui %{{.*}} : i8
