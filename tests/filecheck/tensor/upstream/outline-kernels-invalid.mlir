// RUN: stepwell-opt %s -p outline-kernels --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
// expected-error: expected one function on tensors, found 2
func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}

// -----

// expected-error: arguments are tensors, found f32
func.func @scalar(%x: f32) -> f32 {
  func.return %x : f32
}

// -----

func.func @unknown_size(%x: tensor<?x2xf32>) -> tensor<?xf32> {
  // expected-error: the sizes of tensor.collapse_shape do not follow
  %y = tensor.collapse_shape %x [[0, 1]] : tensor<?x2xf32> into tensor<?xf32>
  func.return %y : tensor<?xf32>
}
