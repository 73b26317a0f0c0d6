// RUN: stepwell-opt %s -p drop-observers | filecheck %s

// CHECK-LABEL: @main
// CHECK-NOT: observe
// CHECK: %[[Y:.*]] = graph.matmul %x, %
// CHECK: func.return %[[Y]]
func.func @main(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %m = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = graph.observe %x key "a:0" role "activation" to ui8 : tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = graph.observe %m key "a:1" role "weight" to i8 axis 1 : tensor<2x2xf32> -> tensor<2x2xf32>
  %2 = graph.matmul %0, %1 : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  func.return %2 : tensor<4x2xf32>
}
