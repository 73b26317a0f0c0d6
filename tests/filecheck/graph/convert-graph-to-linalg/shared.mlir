// RUN: stepwell-opt %s -p convert-graph-to-linalg | filecheck %s

// Kernels that compute the same are one function, whatever their values are called; another number, or another
// order of operands, is another kernel.
// CHECK-LABEL: func.func @main
// CHECK: %a = func.call @k0(%x, %y)
// CHECK: %b = func.call @k0(%a, %x)
// CHECK: %c = func.call @k1(%b, %x)
// CHECK: %d = func.call @k2(%c, %x)
// CHECK-NOT: @k3
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.fused (%p = %x : tensor<4xf32>, %q = %y : tensor<4xf32>) -> (tensor<4xf32>) {
    %0 = graph.leaky_relu %p alpha 0.0 : tensor<4xf32> -> tensor<4xf32>
    %1 = graph.subtract %0, %q : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }
  %b = graph.fused (%r = %a : tensor<4xf32>, %s = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %first = graph.leaky_relu %r alpha 0.0 : tensor<4xf32> -> tensor<4xf32>
    %second = graph.subtract %first, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %second : tensor<4xf32>
  }
  %c = graph.fused (%p = %b : tensor<4xf32>, %q = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %0 = graph.leaky_relu %p alpha -0.0 : tensor<4xf32> -> tensor<4xf32>
    %1 = graph.subtract %0, %q : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }
  %d = graph.fused (%p = %c : tensor<4xf32>, %q = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %0 = graph.leaky_relu %p alpha 0.0 : tensor<4xf32> -> tensor<4xf32>
    %1 = graph.subtract %q, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }
  func.return %d : tensor<4xf32>
}
// CHECK: func.func private @k0
// CHECK: func.func private @k1
// CHECK: func.func private @k2
// CHECK-NOT: func.func
