// RUN: stepwell-opt %s -p convert-onnx-to-graph --verify-diagnostics

func.func @samples_by_size(%x: tensor<1x2x8x8xf32>, %r: tensor<3x4xf32>, %b: tensor<3xi64>) {
  // expected-error: RoiAlign: `sampling_ratio` 0, where each region has its own number of samples
  %0 = "onnx.RoiAlign"(%x, %r, %b) <{output_height = 2 : i64, output_width = 2 : i64}> : (tensor<1x2x8x8xf32>, tensor<3x4xf32>, tensor<3xi64>) -> !onnx.any
  func.return
}
