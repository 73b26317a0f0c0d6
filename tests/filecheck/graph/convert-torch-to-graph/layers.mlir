// RUN: stepwell-opt %s -p convert-torch-to-graph | filecheck %s

// CHECK-LABEL: @pools
// CHECK: graph.pool %x kind "max" kernel [2, 2] strides [2, 2] dilations [1, 1] pads [1, 1, 1, 1]
// CHECK: graph.pool %x kind "avg" kernel [3, 3] strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] count_include_pad true
// Windows of an adaptive pool of 3 over 8: 0..3, 2..6, 5..8.
// CHECK: graph.slice %x starts <[0, 0, 0, 0]> limits <[1, 2, 3, 8]>
// CHECK: graph.slice %x starts <[0, 0, 2, 0]> limits <[1, 2, 6, 8]>
// CHECK: graph.slice %x starts <[0, 0, 5, 0]> limits <[1, 2, 8, 8]>
// CHECK: graph.reduce %x kind "mean" axes [2, 3] keep_dims true
func.func @pools(%x: tensor<1x2x8x8xf32>) {
  %0 = "torch.aten.max_pool2d.default"(%x) {kernel_size = [2, 2], padding = [1, 1]} : (tensor<1x2x8x8xf32>) -> tensor<1x2x5x5xf32>
  %1 = "torch.aten.avg_pool2d.default"(%x) {kernel_size = [3, 3], stride = [1, 1], padding = [1, 1]} : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %2 = "torch.aten.adaptive_avg_pool2d.default"(%x) {output_size = [3, 8]} : (tensor<1x2x8x8xf32>) -> tensor<1x2x3x8xf32>
  %3 = "torch.aten.adaptive_avg_pool2d.default"(%x) {output_size = [1, 1]} : (tensor<1x2x8x8xf32>) -> tensor<1x2x1x1xf32>
  func.return
}
// Another divisor is that of all elements of a window, those of the padding too: 9 / 2.
// CHECK-LABEL: @divisor
// CHECK: %[[P:.*]] = graph.pool %x kind "avg" kernel [3, 3] strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] count_include_pad true
// CHECK: %[[F:.*]] = graph.constant dense<4.500000e+00>
// CHECK: graph.multiply %[[P]], %[[F]]
func.func @divisor(%x: tensor<1x2x8x8xf32>) {
  %0 = "torch.aten.avg_pool2d.default"(%x) {kernel_size = [3, 3], stride = [1, 1], padding = [1, 1], count_include_pad = false, divisor_override = 2 : i64} : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  func.return
}
// The mean of integers is rounded: their sum is of floats.
// CHECK-LABEL: @divisor_of_integers
// CHECK: %[[P:.*]] = graph.pool {{.*}} -> tensor<1x2x8x8xf64>
// CHECK: graph.multiply %[[P]]
// CHECK: %[[S:.*]] = graph.cast {{.*}} -> tensor<1x2x8x8xi64>
// CHECK: graph.divide %[[S]], {{.*}} -> tensor<1x2x8x8xi64>
func.func @divisor_of_integers(%x: tensor<1x2x8x8xi64>) {
  %0 = "torch.aten.avg_pool2d.default"(%x) {kernel_size = [3, 3], stride = [1, 1], padding = [1, 1], divisor_override = 2 : i64} : (tensor<1x2x8x8xi64>) -> tensor<1x2x8x8xi64>
  func.return
}
// Positions in a feature map: those of the greatest element of each row of a window, then of the greatest row.
// CHECK-LABEL: @positions
// CHECK: graph.argmax {{.*}} axis 3 keep_dims true
// CHECK: graph.argmax {{.*}} axis 2 keep_dims true
// CHECK: return %{{.*}} : tensor<1x2x2x2xi64>
func.func @positions(%x: tensor<1x2x5x4xf32>) -> tensor<1x2x2x2xi64> {
  %y:2 = "torch.aten.adaptive_max_pool2d.default"(%x) {output_size = [2, 2]} : (tensor<1x2x5x4xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xi64>)
  func.return %y#1 : tensor<1x2x2x2xi64>
}
// Statistics are computed in f32; torch has them in the element type of the operand.
// CHECK-LABEL: @statistics
// CHECK: %{{.*}}, %[[M:.*]], %{{.*}} = graph.layer_norm %x axis 1
// CHECK: graph.cast %[[M]] to bf16
func.func @statistics(%x: tensor<2x8xbf16>) -> (tensor<2x8xbf16>, tensor<2x1xbf16>) {
  %y:3 = "torch.aten.native_layer_norm.default"(%x) {normalized_shape = [8], eps = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<2x8xbf16>) -> (tensor<2x8xbf16>, tensor<2x1xbf16>, tensor<2x1xbf16>)
  func.return %y#0, %y#1 : tensor<2x8xbf16>, tensor<2x1xbf16>
}
// CHECK-LABEL: @norms
// CHECK: graph.batch_norm %x mean %m variance %v scale %m bias %v eps 1.000000e-05 axis 1
// CHECK: graph.layer_norm %x axis 2 eps 1.000000e-05 compute_type f32
// CHECK: graph.group_norm %x
func.func @norms(%x: tensor<1x2x8x8xf32>, %m: tensor<2xf32>, %v: tensor<2xf32>) {
  %0 = "torch.aten.batch_norm.default"(%x, %m, %v, %m, %v) {training = false, momentum = 0.1 : f64, eps = 1.0e-5 : f64, cudnn_enabled = false, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>} : (tensor<1x2x8x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x8x8xf32>
  %1 = "torch.aten.layer_norm.default"(%x) {normalized_shape = [8, 8], operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %2 = "torch.aten.group_norm.default"(%x) {num_groups = 2, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  func.return
}
// A mask of truth values becomes -inf where it is false; one scale is from the depth.
// CHECK-LABEL: @attention
// CHECK: %[[M:.*]] = graph.where %m
// CHECK: graph.attention %q, %q, %q mask %[[M]] : tensor<5x5xf32> scale 5.000000e-01 zero_masked true
func.func @attention(%q: tensor<1x2x5x4xf32>, %m: tensor<5x5xi1>) {
  %0 = "torch.aten.scaled_dot_product_attention.default"(%q, %q, %q, %m) : (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<5x5xi1>) -> tensor<1x2x5x4xf32>
  func.return
}
// The gates i f g o of torch become i o f c.
// CHECK-LABEL: @lstm
// CHECK: graph.slice %w starts <[0, 0]> limits <[2, 3]>
// CHECK: graph.slice %w starts <[6, 0]> limits <[8, 3]>
// CHECK: graph.slice %w starts <[2, 0]> limits <[4, 3]>
// CHECK: graph.slice %w starts <[4, 0]> limits <[6, 3]>
// CHECK: graph.rnn {{.*}} cell "lstm" direction "forward"
func.func @lstm(%x: tensor<5x1x3xf32>, %h: tensor<1x1x2xf32>, %w: tensor<8x3xf32>, %r: tensor<8x2xf32>) {
  %0:3 = "torch.aten.lstm.input"(%x, %h, %h, %w, %r) {has_biases = false, num_layers = 1, dropout = 0.0 : f64, train = false, bidirectional = false, batch_first = false, operandSegmentSizes = array<i32: 1, 2, 2>} : (tensor<5x1x3xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>, tensor<8x3xf32>, tensor<8x2xf32>) -> (tensor<5x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}

// Without a mask, or with a causal one, each query has a key.
// CHECK-LABEL: @attention_without_mask
// CHECK: graph.attention %q, %q, %q scale 5.000000e-01 : (
func.func @attention_without_mask(%q: tensor<1x2x5x4xf32>) {
  %0 = "torch.aten.scaled_dot_product_attention.default"(%q, %q, %q) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) -> tensor<1x2x5x4xf32>
  func.return
}

// The means of windows of unequal size, one axis after the other, are rounded once.
// CHECK-LABEL: @adaptive_pool
// CHECK: %[[W:.*]] = graph.cast %x to f32
// CHECK: graph.slice %[[W]]
// CHECK: graph.concat
// CHECK: %[[Y:.*]] = graph.concat
// CHECK-NEXT: graph.cast %[[Y]] to bf16
func.func @adaptive_pool(%x: tensor<1x2x5x7xbf16>) {
  %0 = "torch.aten.adaptive_avg_pool2d.default"(%x) {output_size = [3, 3]} : (tensor<1x2x5x7xbf16>) -> tensor<1x2x3x3xbf16>
  func.return
}

// Queries with more heads than keys share these, as AOTAutograd writes `enable_gqa`.
// CHECK-LABEL: @grouped_attention
// CHECK: %[[Q:.*]] = graph.reshape %q shape <[1, 2, 2, 5, 8]>
// CHECK: %[[K:.*]] = graph.expand_dims %k axes [2]
// CHECK: graph.attention %[[Q]], %[[K]]
func.func @grouped_attention(%q: tensor<1x4x5x8xf32>, %k: tensor<1x2x5x8xf32>) {
  %0:2 = "torch.aten._scaled_dot_product_flash_attention_for_cpu.default"(%q, %k, %k) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<1x4x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>) -> (tensor<1x4x5x8xf32>, tensor<1x4x5xf32>)
  func.return
}
