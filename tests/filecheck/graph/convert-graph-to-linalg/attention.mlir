// RUN: stepwell-opt %s -p convert-graph-to-linalg | filecheck %s

// CHECK-LABEL: func.func private @k0
// CHECK: %[[INIT:.*]] = tensor.empty() : tensor<5x200x4xf32>
// CHECK: linalg_ext.attention %q, %k, %v into %[[INIT]] scale 5.000000e-01 :
func.func @static(%x: tensor<5x200x8xf32>, %y: tensor<5x30x8xf32>, %z: tensor<5x30x4xf32>) -> tensor<5x200x4xf32> {
  %r = graph.fused (%q = %x : tensor<5x200x8xf32>, %k = %y : tensor<5x30x8xf32>, %v = %z : tensor<5x30x4xf32>) -> (tensor<5x200x4xf32>) {
    %0 = graph.attention %q, %k, %v scale 0.5 : (tensor<5x200x8xf32>, tensor<5x30x8xf32>, tensor<5x30x4xf32>) -> tensor<5x200x4xf32>
    graph.yield %0 : tensor<5x200x4xf32>
  }
  func.return %r : tensor<5x200x4xf32>
}

// The sizes of the result are computed from symbols.
// CHECK-LABEL: func.func private @k1
// CHECK: %[[INIT:.*]] = tensor.empty(%B, %S) : tensor<?x?x8xf32>
// CHECK: linalg_ext.attention %q, %k, %k into %[[INIT]] mask %m scale 5.000000e-01 zero_masked :
func.func @open(%x: tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>, %y: tensor<?x8xf32, #graph.dims<["S", 8]>>, %z: tensor<?x?xf32, #graph.dims<["S", "S"]>>) -> tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>> {
  %r = graph.fused (%q = %x : tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>, %k = %y : tensor<?x8xf32, #graph.dims<["S", 8]>>, %m = %z : tensor<?x?xf32, #graph.dims<["S", "S"]>>) -> (tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>) {
    %0 = graph.attention %q, %k, %k mask %m : tensor<?x?xf32, #graph.dims<["S", "S"]>> scale 0.5 zero_masked true : (tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>, tensor<?x8xf32, #graph.dims<["S", 8]>>, tensor<?x8xf32, #graph.dims<["S", 8]>>) -> tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>
    graph.yield %0 : tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>
  }
  func.return %r : tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>
}
