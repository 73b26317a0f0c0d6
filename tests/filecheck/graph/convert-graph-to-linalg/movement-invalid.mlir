// RUN: stepwell-opt %s -p fuse-ops,convert-graph-to-linalg --split-input-file --verify-diagnostics

func.func @slice_by_data(%x: tensor<9xf32>, %s: tensor<1xi64>) -> tensor<?xf32> {
  // expected-error: graph.slice: `starts` depends on data
  %y = graph.slice %x starts_value %s : tensor<1xi64> limits <[9]> steps [1] : tensor<9xf32> -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
// -----
func.func @range_by_data(%a: tensor<i64>) -> tensor<?xi64> {
  // expected-error: no conversion for graph.range
  %y = graph.range %a, %a, %a : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  func.return %y : tensor<?xi64>
}
// -----
func.func @resize_many(%x: tensor<900xf32>) -> tensor<3xf32> {
  // expected-error: graph.resize: 600 neighbours, at most 64 are supported
  %y = graph.resize %x shape <[3]> mode "linear" coordinate "half_pixel" nearest "floor" cubic_a 0.0 antialias extrapolation 0.0 : tensor<900xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
// -----
func.func @complex(%x: tensor<2x3xcomplex<f32>>) -> tensor<3x2xcomplex<f32>> {
  %y = graph.fused (%p = %x : tensor<2x3xcomplex<f32>>) -> (tensor<3x2xcomplex<f32>>) {
    // expected-error: graph.transpose: kernels have no complex numbers
    %0 = graph.transpose %p perm [1, 0] : tensor<2x3xcomplex<f32>> -> tensor<3x2xcomplex<f32>>
    graph.yield %0 : tensor<3x2xcomplex<f32>>
  }
  func.return %y : tensor<3x2xcomplex<f32>>
}
// -----
func.func @unknown_size(%x: tensor<?xf32, #graph.dims<["?"]>>) -> tensor<?xf32, #graph.dims<["?"]>> {
  // expected-error: a kernel cannot compute the size of an unknown dimension
  %y = graph.transpose %x perm [0] : tensor<?xf32, #graph.dims<["?"]>> -> tensor<?xf32, #graph.dims<["?"]>>
  func.return %y : tensor<?xf32, #graph.dims<["?"]>>
}
