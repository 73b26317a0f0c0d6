// RUN: stepwell-opt %s -p 'to-training-mode{nodes=all}' --split-input-file --verify-diagnostics

// expected-error: training needs a function @main, and the module has none
builtin.module {
}

// -----

builtin.module attributes {onnx.opsets = {"" = 8 : i64}} {
  func.func @main(%x: tensor<4x2x3xf32>, %s: tensor<2x3xf32>) -> tensor<4x2x3xf32> {
    // expected-error: BatchNormalization with saved statistics, or with some for each element, is not trained
    %h = "onnx.BatchNormalization"(%x, %s, %s, %s, %s) <{spatial = 0 : i64, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> : (tensor<4x2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x2x3xf32>
    func.return %h : tensor<4x2x3xf32>
  }
}
