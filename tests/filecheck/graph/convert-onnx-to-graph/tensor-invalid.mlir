// RUN: stepwell-opt %s -p convert-onnx-to-graph --split-input-file --verify-diagnostics

func.func @no_dimension_to_copy(%x: tensor<2x3xf32>) {
  %s = "onnx.Constant"() <{value = dense<[2, 3, 0]> : tensor<3xi64>}> : () -> !onnx.any
  // expected-error: Reshape: no dimension 2 that 0 could copy
  %0 = "onnx.Reshape"(%x, %s) : (tensor<2x3xf32>, !onnx.any) -> !onnx.any
  func.return
}
