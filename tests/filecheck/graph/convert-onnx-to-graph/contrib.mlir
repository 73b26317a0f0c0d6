// RUN: stepwell-opt %s -p convert-onnx-to-graph | filecheck %s

builtin.module attributes {onnx.opsets = {"" = 17 : i64, "com.microsoft" = 1 : i64}} {
  // Keys beyond a row's length get -10000 added to their scores.
  // CHECK-LABEL: func.func @attention
  func.func @attention(%q: tensor<2x3x8xf32>, %k: tensor<2x5x8xf32>, %mask: tensor<2x5xi32>) {
    // CHECK: %[[Q:.*]] = graph.transpose {{.*}} perm [0, 2, 1, 3] : tensor<2x3x2x4xf32> -> tensor<2x2x3x4xf32>
    // CHECK: %[[SEEN:.*]] = graph.less
    // CHECK: %[[MASK:.*]] = graph.where %[[SEEN]], {{.*}} -> tensor<2x1x1x5xf32>
    // CHECK: %[[SCORES:.*]] = graph.matmul %[[Q]], {{.*}} transpose_b true
    // CHECK: %[[SCALED:.*]] = graph.multiply %[[SCORES]]
    // CHECK: %[[MASKED:.*]] = graph.add %[[SCALED]], %[[MASK]]
    // CHECK: %[[WEIGHTS:.*]] = graph.softmax %[[MASKED]] axis 3
    // CHECK: graph.matmul %[[WEIGHTS]]
    %0 = "onnx.Call"(%q, %k, %k, %mask) <{domain = "com.microsoft", op_type = "MultiHeadAttention", arguments = {num_heads = 2 : i64}, absent = array<i64: 3>}> : (tensor<2x3x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5xi32>) -> !onnx.any
    func.return
  }
  // Bytes stay packed: two elements each, taken apart before they are scaled.
  // CHECK-LABEL: func.func @packed
  func.func @packed(%x: tensor<3x64xf32>, %w: tensor<8x2x16xui8>, %s: tensor<8x2xf32>) {
    // CHECK: %[[SHIFTED:.*]] = graph.shift_right {{.*}} -> tensor<8x32x2xui8>
    // CHECK: %[[CODES:.*]] = graph.and %[[SHIFTED]]
    // CHECK: graph.dequantize {{.*}} axis 1 block 32 to f32
    // CHECK: graph.matmul %x
    %0 = "onnx.Call"(%x, %w, %s) <{domain = "com.microsoft", op_type = "MatMulNBits", arguments = {K = 64 : i64, N = 8 : i64, bits = 4 : i64, block_size = 32 : i64}}> : (tensor<3x64xf32>, tensor<8x2x16xui8>, tensor<8x2xf32>) -> !onnx.any
    func.return
  }
  // Operators of ONNX take the place of others, and are converted by their own patterns.
  // CHECK-LABEL: func.func @fused
  func.func @fused(%x: tensor<1x2x5xf32>, %w: tensor<3x2x3xf32>, %z: tensor<1x3x3xf32>) {
    // CHECK: %[[CONV:.*]] = graph.conv %x, %w
    // CHECK: %[[SUM:.*]] = graph.add %[[CONV]], %z
    // CHECK: graph.relu %[[SUM]]
    %0 = "onnx.Call"(%x, %w, %z) <{domain = "com.microsoft", op_type = "FusedConv", arguments = {activation = "Relu"}, absent = array<i64: 2>}> : (tensor<1x2x5xf32>, tensor<3x2x3xf32>, tensor<1x3x3xf32>) -> !onnx.any
    func.return
  }
  // One length for each row of the batch, whose number is known at run time only.
  // CHECK-LABEL: func.func @lengths
  func.func @lengths(%q: tensor<2x3x8xf32>, %k: tensor<2x5x8xf32>, %mask: tensor<?xi32>) {
    // CHECK: graph.assert "mask_0" equals "2", "{{.*}}: the mask must have one length for each row of the batch"
    // CHECK: graph.reshape %mask shape <[2]>
    %0 = "onnx.Call"(%q, %k, %k, %mask) <{domain = "com.microsoft", op_type = "MultiHeadAttention", arguments = {num_heads = 2 : i64}, absent = array<i64: 3>}> : (tensor<2x3x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<?xi32>) -> !onnx.any
    func.return
  }
  // A number of keys that the model gives as a constant is a size.
  // CHECK-LABEL: func.func @cache
  func.func @cache(%q: tensor<1x2x8xf32>, %p: tensor<1x2x3x4xf32>, %n: tensor<1xi32>) {
    %t = "onnx.Constant"() <{value = dense<5> : tensor<i32>}> : () -> !onnx.any
    // CHECK-NOT: graph.bind_sizes
    // CHECK: graph.iota shape <[1, 5]> axis 1
    %0:3 = "onnx.Call"(%q, %q, %q, %p, %p, %n, %t) <{domain = "com.microsoft", op_type = "GroupQueryAttention", arguments = {num_heads = 2 : i64, kv_num_heads = 2 : i64}}> : (tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1xi32>, !onnx.any) -> (!onnx.any, !onnx.any, !onnx.any)
    func.return
  }
}
