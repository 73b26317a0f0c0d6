// RUN: stepwell-opt %s -p convert-onnx-to-graph --verify-diagnostics

builtin.module attributes {onnx.opsets = {"" = 17 : i64}} {
  func.func @computed(%x: tensor<3x!onnx.string>, %i: tensor<3xi64>) {
    // expected-error: graph.scatter_elements of strings is not supported yet
    %0 = "onnx.ScatterElements"(%x, %i, %x) : (tensor<3x!onnx.string>, tensor<3xi64>, tensor<3x!onnx.string>) -> !onnx.any
    func.return
  }
}
