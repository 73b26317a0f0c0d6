// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @reduce
func.func @reduce(%x: tensor<?x3x4xf32, #graph.dims<["N", 3, 4]>>, %b: tensor<4xi1>) {
  // CHECK: graph.reduce %x kind "sum" axes [1] keep_dims false : {{.*}} -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %0 = graph.reduce %x kind "sum" axes [1] keep_dims false : tensor<?x3x4xf32, #graph.dims<["N", 3, 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.reduce %x kind "mean" axes [0, 2] keep_dims true : {{.*}} -> tensor<1x3x1xf32>
  %1 = graph.reduce %x kind "mean" axes [0, 2] keep_dims true : tensor<?x3x4xf32, #graph.dims<["N", 3, 4]>> -> tensor<1x3x1xf32>
  // CHECK: graph.reduce %x kind "sum_square" axes [] keep_dims false
  %2 = graph.reduce %x kind "sum_square" axes [] keep_dims false : tensor<?x3x4xf32, #graph.dims<["N", 3, 4]>> -> tensor<?x3x4xf32, #graph.dims<["N", 3, 4]>>
  // CHECK: graph.reduce %b kind "and" axes [0] keep_dims false : tensor<4xi1> -> tensor<i1>
  %3 = graph.reduce %b kind "and" axes [0] keep_dims false : tensor<4xi1> -> tensor<i1>
  func.return
}

// CHECK-LABEL: @rows
func.func @rows(%x: tensor<2x3xf32>) {
  // CHECK: graph.argmax %x axis 1 keep_dims false select_last true : tensor<2x3xf32> -> tensor<2xi64>
  %0 = graph.argmax %x axis 1 keep_dims false select_last true : tensor<2x3xf32> -> tensor<2xi64>
  // CHECK: graph.argmin %x axis 0 keep_dims true select_last false : tensor<2x3xf32> -> tensor<1x3xi64>
  %1 = graph.argmin %x axis 0 keep_dims true select_last false : tensor<2x3xf32> -> tensor<1x3xi64>
  // CHECK: graph.scan %x kind "prod" axis 1 exclusive true reverse false : tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = graph.scan %x kind "prod" axis 1 exclusive true reverse false : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: graph.softmax %x axis 1 : tensor<2x3xf32> -> tensor<2x3xf32>
  %3 = graph.softmax %x axis 1 : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: graph.log_softmax %x axis 0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %4 = graph.log_softmax %x axis 0 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}
