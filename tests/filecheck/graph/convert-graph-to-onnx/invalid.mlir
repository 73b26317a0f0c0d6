// RUN: stepwell-opt %s -p convert-graph-to-onnx --split-input-file --verify-diagnostics

func.func @no_counterpart(%x: tensor<4xf32>) -> tensor<4xi32> {
  // expected-error: no conversion for graph.bitcast
  %y = graph.bitcast %x to i32 : tensor<4xf32> -> tensor<4xi32>
  func.return %y : tensor<4xi32>
}

// -----

func.func @drawn_by_the_host() -> tensor<2xi64> {
  // expected-error: no conversion for graph.host_call
  %y = graph.host_call "numpy" "host.draw_key" effect payload "{\"op\": \"host.draw_key\", \"attributes\": {}}" ()
    : () -> tensor<2xi64>
  func.return %y : tensor<2xi64>
}

// -----

func.func @nobody_tells_m(%x: tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?x4xi64, #graph.dims<["M", 4]>> {
  // expected-error: no value of the ONNX model determines the size of M
  %y = graph.iota shape <["M", 4]> axis 0 of i64 -> tensor<?x4xi64, #graph.dims<["M", 4]>>
  func.return %y : tensor<?x4xi64, #graph.dims<["M", 4]>>
}

// -----

// Rounded down there are 3 windows; rounded up, 4, of which the last starts in the padding. Ours are 3 of 4.
func.func @last_window_in_the_padding(%x: tensor<1x2x1x5xf32>) -> tensor<1x2x1x3xf32> {
  // expected-error: no conversion for graph.pool
  %y = graph.pool %x kind "max" kernel [1, 2] strides [1, 2] dilations [1, 1] pads [0, 1, 0, 2] ceil true : tensor<1x2x1x5xf32> -> tensor<1x2x1x3xf32>
  func.return %y : tensor<1x2x1x3xf32>
}

// -----

func.func @other_kernel_layout(%x: tensor<1x1x4x4xi8>, %w: tensor<3x3x1x4xi8>) -> tensor<1x4x2x2xi32> {
  // expected-error: no conversion for graph.conv_integer
  %y = graph.conv_integer %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] kernel_layout "HWIO" : (tensor<1x1x4x4xi8>, tensor<3x3x1x4xi8>) -> tensor<1x4x2x2xi32>
  func.return %y : tensor<1x4x2x2xi32>
}
