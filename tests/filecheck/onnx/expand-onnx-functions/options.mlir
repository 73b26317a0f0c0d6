// RUN: stepwell-opt %s -p 'expand-onnx-functions{ops="onnx.HardSwish"}' | filecheck %s

// CHECK-LABEL: @expanded
func.func @expanded(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: "onnx.HardSigmoid"(%x) <{alpha = 0.166666672 : f32, beta = 5.000000e-01 : f32}>
  // CHECK-NEXT: "onnx.Mul"
  %y = "onnx.HardSwish"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
