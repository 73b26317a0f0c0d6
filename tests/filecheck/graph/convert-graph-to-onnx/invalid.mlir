// RUN: stepwell-opt %s -p convert-graph-to-onnx --split-input-file --verify-diagnostics

func.func @no_counterpart(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: no conversion for graph.expm1
  %y = graph.expm1 %x : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

func.func @nobody_tells_m(%x: tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?x4xi64, #graph.dims<["M", 4]>> {
  // expected-error: no input of the ONNX model determines the size of M
  %y = graph.iota shape <["M", 4]> axis 0 of i64 -> tensor<?x4xi64, #graph.dims<["M", 4]>>
  func.return %y : tensor<?x4xi64, #graph.dims<["M", 4]>>
}
