// RUN: stepwell-opt %s --print-analysis call-graph | filecheck %s

// CHECK: @main calls @again, @leaf
// CHECK-NEXT: @again (recursive) calls @again
// CHECK-NEXT: @leaf calls nothing
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @again(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = func.call @leaf(%y) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}
func.func private @again(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @again(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func private @leaf(tensor<4xf32>) -> tensor<4xf32>
