// RUN: stepwell-opt %s -p 'fold-constant{max-bytes=150000},fold-qdq' --remarks 2>&1 | filecheck %s

// CHECK-COUNT-4: remark: not folded: its sums can exceed 32 bits

// The longest sum of 255 · -128 that an i32 has room for, and one term more.
// CHECK-LABEL: @by_types
func.func @by_types(%x: tensor<2x65793xui8>, %z: tensor<2x65794xui8>) -> (tensor<2x1xf32>, tensor<2x1xf32>) {
  %s = graph.constant dense<0.5> : tensor<f32>
  %v0 = graph.constant dense<-128> : tensor<i8>
  %v = graph.broadcast_to %v0 shape <[65793, 1]> : tensor<i8> -> tensor<65793x1xi8>
  %w0 = graph.constant dense<-128> : tensor<i8>
  %w = graph.broadcast_to %w0 shape <[65794, 1]> : tensor<i8> -> tensor<65794x1xi8>
  // CHECK: graph.matmul_integer %x
  // CHECK: graph.matmul %
  %0 = graph.dequantize %x, %s to f32 : (tensor<2x65793xui8>, tensor<f32>) -> tensor<2x65793xf32>
  %1 = graph.dequantize %v, %s to f32 : (tensor<65793x1xi8>, tensor<f32>) -> tensor<65793x1xf32>
  %2 = graph.matmul %0, %1 : (tensor<2x65793xf32>, tensor<65793x1xf32>) -> tensor<2x1xf32>
  %3 = graph.dequantize %z, %s to f32 : (tensor<2x65794xui8>, tensor<f32>) -> tensor<2x65794xf32>
  %4 = graph.dequantize %w, %s to f32 : (tensor<65794x1xi8>, tensor<f32>) -> tensor<65794x1xf32>
  %5 = graph.matmul %3, %4 : (tensor<2x65794xf32>, tensor<65794x1xf32>) -> tensor<2x1xf32>
  func.return %2, %5 : tensor<2x1xf32>, tensor<2x1xf32>
}

// Small weights have room for long sums; their zero point makes them large.
// CHECK-LABEL: @by_weights
func.func @by_weights(%x: tensor<2x68000xui8>) -> (tensor<2x1xf32>, tensor<2x1xf32>) {
  %s = graph.constant dense<0.5> : tensor<f32>
  %w0 = graph.constant dense<123> : tensor<i8>
  %w = graph.broadcast_to %w0 shape <[1, 68000]> : tensor<i8> -> tensor<1x68000xi8>
  %z = graph.constant dense<-1> : tensor<i8>
  // CHECK: graph.matmul_integer %x
  // CHECK: graph.matmul %
  %0 = graph.dequantize %x, %s to f32 : (tensor<2x68000xui8>, tensor<f32>) -> tensor<2x68000xf32>
  %1 = graph.dequantize %w, %s to f32 : (tensor<1x68000xi8>, tensor<f32>) -> tensor<1x68000xf32>
  %2 = graph.matmul %0, %1 transpose_b true : (tensor<2x68000xf32>, tensor<1x68000xf32>) -> tensor<2x1xf32>
  %3 = graph.dequantize %w, %s zero_point %z : tensor<i8> to f32 : (tensor<1x68000xi8>, tensor<f32>) -> tensor<1x68000xf32>
  %4 = graph.matmul %0, %3 transpose_b true : (tensor<2x68000xf32>, tensor<1x68000xf32>) -> tensor<2x1xf32>
  func.return %2, %4 : tensor<2x1xf32>, tensor<2x1xf32>
}

// The zero point of the activations halves their range; one that is not known may be any number.
// CHECK-LABEL: @by_zero_point
func.func @by_zero_point(%x: tensor<2x131000xui8>, %p: tensor<ui8>) -> (tensor<2x1xf32>, tensor<2x1xf32>) {
  %s = graph.constant dense<0.5> : tensor<f32>
  %w0 = graph.constant dense<127> : tensor<i8>
  %w = graph.broadcast_to %w0 shape <[131000, 1]> : tensor<i8> -> tensor<131000x1xi8>
  %z = graph.constant dense<128> : tensor<ui8>
  // CHECK: graph.matmul_integer %x
  // CHECK: graph.matmul %
  %0 = graph.dequantize %x, %s zero_point %z : tensor<ui8> to f32 : (tensor<2x131000xui8>, tensor<f32>) -> tensor<2x131000xf32>
  %1 = graph.dequantize %w, %s to f32 : (tensor<131000x1xi8>, tensor<f32>) -> tensor<131000x1xf32>
  %2 = graph.matmul %0, %1 : (tensor<2x131000xf32>, tensor<131000x1xf32>) -> tensor<2x1xf32>
  %3 = graph.dequantize %x, %s zero_point %p : tensor<ui8> to f32 : (tensor<2x131000xui8>, tensor<f32>) -> tensor<2x131000xf32>
  %4 = graph.matmul %3, %1 : (tensor<2x131000xf32>, tensor<131000x1xf32>) -> tensor<2x1xf32>
  func.return %2, %4 : tensor<2x1xf32>, tensor<2x1xf32>
}

// A convolution adds channels times cells of the kernel: 7310 · 9 is 65790; with a filter a channel, cells only.
// CHECK-LABEL: @convolutions
func.func @convolutions(%x: tensor<1x7310x3x3xui8>, %y: tensor<1x7311x3x3xui8>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x7311x1x1xf32>) {
  %s = graph.constant dense<0.5> : tensor<f32>
  %v0 = graph.constant dense<-128> : tensor<i8>
  %v = graph.broadcast_to %v0 shape <[1, 7310, 3, 3]> : tensor<i8> -> tensor<1x7310x3x3xi8>
  %w0 = graph.constant dense<-128> : tensor<i8>
  %w = graph.broadcast_to %w0 shape <[1, 7311, 3, 3]> : tensor<i8> -> tensor<1x7311x3x3xi8>
  %u0 = graph.constant dense<-128> : tensor<i8>
  %u = graph.broadcast_to %u0 shape <[7311, 1, 3, 3]> : tensor<i8> -> tensor<7311x1x3x3xi8>
  // CHECK: graph.conv_integer %x
  // CHECK: graph.conv %
  // CHECK: graph.conv_integer %y
  %0 = graph.dequantize %x, %s to f32 : (tensor<1x7310x3x3xui8>, tensor<f32>) -> tensor<1x7310x3x3xf32>
  %1 = graph.dequantize %v, %s to f32 : (tensor<1x7310x3x3xi8>, tensor<f32>) -> tensor<1x7310x3x3xf32>
  %2 = graph.conv %0, %1 strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x7310x3x3xf32>, tensor<1x7310x3x3xf32>) -> tensor<1x1x1x1xf32>
  %3 = graph.dequantize %y, %s to f32 : (tensor<1x7311x3x3xui8>, tensor<f32>) -> tensor<1x7311x3x3xf32>
  %4 = graph.dequantize %w, %s to f32 : (tensor<1x7311x3x3xi8>, tensor<f32>) -> tensor<1x7311x3x3xf32>
  %5 = graph.conv %3, %4 strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x7311x3x3xf32>, tensor<1x7311x3x3xf32>) -> tensor<1x1x1x1xf32>
  %6 = graph.dequantize %u, %s to f32 : (tensor<7311x1x3x3xi8>, tensor<f32>) -> tensor<7311x1x3x3xf32>
  %7 = graph.conv %3, %6 strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 7311 : (tensor<1x7311x3x3xf32>, tensor<7311x1x3x3xf32>) -> tensor<1x7311x1x1xf32>
  func.return %2, %5, %7 : tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x7311x1x1xf32>
}
