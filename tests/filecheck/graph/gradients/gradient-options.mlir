// RUN: stepwell-opt %s -p gradient | filecheck %s --check-prefixes=CHECK,ALL
// RUN: stepwell-opt %s -p 'gradient{checkpoint=none}' | filecheck %s --check-prefixes=CHECK,NONE
// RUN: stepwell-opt %s -p 'gradient{checkpoint="every:4"}' | filecheck %s --check-prefixes=CHECK,EVERY

// The stack has a row for each iteration, of what it begins with, or of what is read; or one for each block of iterations.
// CHECK-LABEL: func.func private @f.gradient_0(
// ALL: graph.insert_slice %{{.*}} into %{{.*}} : (tensor<1x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
// ALL: graph.gather %{{.*}} : (tensor<8x3xf32>, tensor<i64>) -> tensor<3xf32>
// ALL-NEXT: %[[Y:.*]] = graph.softmax
// ALL: graph.multiply %{{.*}}, %[[Y]]
// NONE: %[[Y:.*]] = graph.softmax
// NONE: %[[ROW:.*]] = graph.expand_dims %[[Y]] axes [0]
// NONE: graph.insert_slice %[[ROW]] into %{{.*}} : (tensor<1x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
// NONE-NOT: graph.softmax
// EVERY: graph.insert_slice %{{.*}} into %{{.*}} : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// EVERY: graph.insert_slice %{{.*}} into %{{.*}} : (tensor<1x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-LABEL: func.func @main(
func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {
  %c = graph.constant dense<8> : tensor<i64>
  %y = graph.for %i to %c (%a = %x : tensor<3xf32>) -> (tensor<3xf32>) {
    %b = graph.softmax %a axis 0 : tensor<3xf32> -> tensor<3xf32>
    graph.yield %b : tensor<3xf32>
  }
  func.return %y : tensor<3xf32>
}
func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %g = graph.gradient @f wrt [0] : (tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  %y, %dx = graph.call %g(%x) : (tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  func.return %y, %dx : tensor<3xf32>, tensor<3xf32>
}
