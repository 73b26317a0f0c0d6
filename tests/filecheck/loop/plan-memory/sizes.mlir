// RUN: stepwell-opt %s -p 'fuse-ops,convert-graph-to-linalg,plan-memory' | filecheck %s

// A size that an iteration changes is a value of the loop; the carried tensor has a slot of its own, into which
// the next one is copied from the kernel's.
// CHECK-LABEL: func.func @main(
// CHECK: %[[SIZE:.*]] = scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[D:.*]] = %{{.*}}) -> (index) {
// CHECK: sched.allocate slot [[OWN:[0-9]+]], %{{.*}} : memref<?xi8>
// CHECK: sched.allocate slot [[NEXT:[0-9]+]], %{{.*}} : memref<?xi8>
// CHECK: func.call @k0(
// CHECK: sched.allocate slot [[OWN]], %{{.*}} : memref<?xi8>
// CHECK: "memref.copy"
// CHECK: scf.yield %{{.*}} : index
// CHECK: }
// CHECK: sched.publish %[[SIZE]]
func.func @main(%z: tensor<1xf32>, %n: tensor<i64>) -> tensor<?xf32, #graph.dims<["data_1"]>> {
  %g, %e = graph.for %i to %n (%a = %z : tensor<1xf32> as tensor<?xf32, #graph.dims<["data_0"]>>)
      carries ["data_0"] (%d) defines ["data_1"] -> (tensor<?xf32, #graph.dims<["data_1"]>>, index) {
    %b = graph.concat %a, %z axis 0
        : (tensor<?xf32, #graph.dims<["data_0"]>>, tensor<1xf32>) -> tensor<?xf32, #graph.dims<["data_0 + 1"]>>
    graph.yield %b : tensor<?xf32, #graph.dims<["data_0 + 1"]>>
  }
  func.return %g : tensor<?xf32, #graph.dims<["data_1"]>>
}
