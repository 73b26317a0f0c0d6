// RUN: stepwell-opt %s -p 'set-input-shapes{shapes="x=2x4"}' | filecheck %s

// CHECK: func.func @main(%{{.*}}: tensor<2x4xf32> {graph.name = "x"}, %{{.*}}: tensor<2x?xf32, #graph.dims<[2, "S"]>>
// CHECK-SAME: -> tensor<2x?xf32, #graph.dims<[2, "2 * S"]>>
func.func @main(%x: tensor<?x4xf32, #graph.dims<["N", 4]>> {graph.name = "x"},
                %y: tensor<?x?xf32, #graph.dims<["N", "S"]>> {graph.name = "y"})
    -> tensor<?x?xf32, #graph.dims<["N", "2 * S"]>> {
  // CHECK: graph.concat {{.*}} -> tensor<2x?xf32, #graph.dims<[2, "2 * S"]>>
  %z = graph.concat %y, %y axis 1 : (tensor<?x?xf32, #graph.dims<["N", "S"]>>, tensor<?x?xf32, #graph.dims<["N", "S"]>>)
    -> tensor<?x?xf32, #graph.dims<["N", "2 * S"]>>
  func.return %z : tensor<?x?xf32, #graph.dims<["N", "2 * S"]>>
}
