// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @boxes
func.func @boxes(%b: tensor<2x40x4xf32>, %s: tensor<2x3x40xf32>, %t: tensor<f32>) {
  // CHECK: %{{.*}}, %{{.*}} = graph.non_max_suppression %b, %s overlap %t least %t most <[9]> center true : ({{.*}}) -> (tensor<2x3x9xi64>, tensor<2x3xi64>)
  %0, %1 = graph.non_max_suppression %b, %s overlap %t least %t most <[9]> center true
    : (tensor<2x40x4xf32>, tensor<2x3x40xf32>, tensor<f32>, tensor<f32>) -> (tensor<2x3x9xi64>, tensor<2x3xi64>)
  // CHECK: graph.non_max_suppression %b, %s overlap %t most <[0]> center false : ({{.*}}) -> (tensor<2x3x0xi64>, tensor<2x3xi64>)
  %2, %3 = graph.non_max_suppression %b, %s overlap %t most <[0]> center false
    : (tensor<2x40x4xf32>, tensor<2x3x40xf32>, tensor<f32>) -> (tensor<2x3x0xi64>, tensor<2x3xi64>)
  // CHECK: graph.join_parts %{{.*}}, %{{.*}} size <[7]> : (tensor<2x3x9xi64>, tensor<2x3xi64>) -> tensor<7x3xi64>
  %4 = graph.join_parts %0, %1 size <[7]> : (tensor<2x3x9xi64>, tensor<2x3xi64>) -> tensor<7x3xi64>
  func.return
}
// The result is as long as a name says.
// CHECK-LABEL: @named
func.func @named(%p: tensor<?x9xi64, #graph.dims<["C", 9]>>, %c: tensor<?xi64, #graph.dims<["C"]>>, %k: tensor<?xf32, #graph.dims<["K"]>>) {
  // CHECK: graph.join_parts %p, %c size <["K"]> : {{.*}} -> tensor<?x2xi64, #graph.dims<["K", 2]>>
  %0 = graph.join_parts %p, %c size <["K"]> : (tensor<?x9xi64, #graph.dims<["C", 9]>>, tensor<?xi64, #graph.dims<["C"]>>) -> tensor<?x2xi64, #graph.dims<["K", 2]>>
  func.return
}
