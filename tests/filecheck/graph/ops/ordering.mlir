// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @main
func.func @main(%x: tensor<?x5xf32, #graph.dims<["N", 5]>>, %n: tensor<?xi64, #graph.dims<["N"]>>) {
  // CHECK: %{{.*}}, %{{.*}} = graph.top_k %x k <[2]> axis 1 largest true : {{.*}} -> (tensor<?x2xf32, #graph.dims<["N", 2]>>, tensor<?x2xi64, #graph.dims<["N", 2]>>)
  %0, %1 = graph.top_k %x k <[2]> axis 1 largest true : tensor<?x5xf32, #graph.dims<["N", 5]>> -> (tensor<?x2xf32, #graph.dims<["N", 2]>>, tensor<?x2xi64, #graph.dims<["N", 2]>>)
  // CHECK: graph.reverse_sequence %x, %n batch_axis 0 time_axis 1 : ({{.*}}) -> tensor<?x5xf32, #graph.dims<["N", 5]>>
  %2 = graph.reverse_sequence %x, %n batch_axis 0 time_axis 1 : (tensor<?x5xf32, #graph.dims<["N", 5]>>, tensor<?xi64, #graph.dims<["N"]>>) -> tensor<?x5xf32, #graph.dims<["N", 5]>>
  func.return
}
