// RUN: stepwell-opt %s -p convert-onnx-to-graph --split-input-file --verify-diagnostics

builtin.module {
  func.func @refused_input(%q: tensor<2x3x8xf32>, %n: tensor<i32>) {
    // expected-error: MultiHeadAttention: input 8 is not supported yet
    %0 = "onnx.Call"(%q, %q, %q, %n) <{domain = "com.microsoft", op_type = "MultiHeadAttention", arguments = {num_heads = 2 : i64}, absent = array<i64: 3, 4, 5, 6, 7>}> : (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<i32>) -> !onnx.any
    func.return
  }
}
// -----
builtin.module {
  func.func @refused_output(%x: tensor<2x8xf32>, %s: tensor<8xf32>) {
    // expected-error: SkipLayerNormalization: output 1 is not supported yet
    %0:2 = "onnx.Call"(%x, %x, %s) <{domain = "com.microsoft", op_type = "SkipLayerNormalization", arguments = {}}> : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>) -> (!onnx.any, !onnx.any)
    func.return
  }
}
// -----
builtin.module {
  func.func @heads(%x: tensor<2x3x8xf32>) {
    // expected-error: MultiHeadAttention: a size of 8 does not make 3 heads
    %0 = "onnx.Call"(%x, %x, %x) <{domain = "com.microsoft", op_type = "MultiHeadAttention", arguments = {num_heads = 3 : i64}}> : (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> !onnx.any
    func.return
  }
}
// -----
builtin.module {
  func.func @mask(%x: tensor<2x3x8xf32>, %m: tensor<2x4xi32>) {
    // expected-error: MultiHeadAttention: the mask must be 2x3, found tensor<2x4xi32>
    %0 = "onnx.Call"(%x, %x, %x, %m) <{domain = "com.microsoft", op_type = "MultiHeadAttention", arguments = {num_heads = 2 : i64}, absent = array<i64: 3>}> : (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x4xi32>) -> !onnx.any
    func.return
  }
}
// -----
builtin.module {
  func.func @type_of_the_norm(%x: tensor<2x3xf32>, %s: tensor<3xf32>) {
    // expected-error: SimplifiedLayerNormalization: stash_type 10 is not supported yet
    %0 = "onnx.Call"(%x, %s) <{domain = "com.microsoft", op_type = "SimplifiedLayerNormalization", arguments = {stash_type = 10 : i64}}> : (tensor<2x3xf32>, tensor<3xf32>) -> !onnx.any
    func.return
  }
}
// -----
builtin.module {
  func.func @other_domain(%x: tensor<2x3xf32>) {
    // expected-error: no conversion for org.other.Gelu
    %0 = "onnx.Call"(%x) <{domain = "org.other", op_type = "Gelu", arguments = {}}> : (tensor<2x3xf32>) -> !onnx.any
    func.return
  }
}
