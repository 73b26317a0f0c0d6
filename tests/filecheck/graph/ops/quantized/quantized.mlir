// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @scales
func.func @scales(%x: tensor<2x64xf32>, %s: tensor<f32>, %t: tensor<64xf32>, %b: tensor<2x2xf32>, %z: tensor<ui8>) {
  // CHECK: graph.quantize %x, %s zero_point %z : tensor<ui8> to ui8 : (tensor<2x64xf32>, tensor<f32>) -> tensor<2x64xui8>
  %0 = graph.quantize %x, %s zero_point %z : tensor<ui8> to ui8 : (tensor<2x64xf32>, tensor<f32>) -> tensor<2x64xui8>
  // CHECK: graph.quantize %x, %t axis 1 to f8E4M3FN compute_type f16 saturate false
  %1 = graph.quantize %x, %t axis 1 to f8E4M3FN compute_type f16 saturate false : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf8E4M3FN>
  // CHECK: graph.quantize %x, %b axis 1 block 32 to i4 : (tensor<2x64xf32>, tensor<2x2xf32>) -> tensor<2x64xi4>
  %2 = graph.quantize %x, %b axis 1 block 32 to i4 : (tensor<2x64xf32>, tensor<2x2xf32>) -> tensor<2x64xi4>
  // CHECK: graph.dequantize %{{.*}}, %t axis 1 to f16 : (tensor<2x64xui8>, tensor<64xf32>) -> tensor<2x64xf16>
  %3 = graph.dequantize %0, %t axis 1 to f16 : (tensor<2x64xui8>, tensor<64xf32>) -> tensor<2x64xf16>
  func.return
}

// Symbols pass through; four bytes are one word.
// CHECK-LABEL: @sums
func.func @sums(%x: tensor<?x64xui8, #graph.dims<["N", 64]>>, %w: tensor<2x16x16xi32>, %s: tensor<32xf32>) {
  // CHECK: %[[W:.*]] = graph.words %x : tensor<?x64xui8, #graph.dims<["N", 64]>> -> tensor<?x16xi32, #graph.dims<["N", 16]>>
  %0 = graph.words %x : tensor<?x64xui8, #graph.dims<["N", 64]>> -> tensor<?x16xi32, #graph.dims<["N", 16]>>
  // CHECK: graph.matmul_integer %[[W]], %w : (tensor<?x16xi32, #graph.dims<["N", 16]>>, tensor<2x16x16xi32>) -> tensor<?x32xi32, #graph.dims<["N", 32]>>
  %1 = graph.matmul_integer %0, %w : (tensor<?x16xi32, #graph.dims<["N", 16]>>, tensor<2x16x16xi32>) -> tensor<?x32xi32, #graph.dims<["N", 32]>>
  // CHECK: graph.requantize %{{.*}}, %s axis 1 to ui8
  %2 = graph.requantize %1, %s axis 1 to ui8 : (tensor<?x32xi32, #graph.dims<["N", 32]>>, tensor<32xf32>) -> tensor<?x32xui8, #graph.dims<["N", 32]>>
  func.return
}

// CHECK-LABEL: @conv
func.func @conv(%x: tensor<1x3x8x8xui8>, %w: tensor<4x3x3x3xi8>, %p: tensor<ui8>, %q: tensor<4xi8>) {
  // CHECK: graph.conv_integer %x, %w x_zero_point %p : tensor<ui8> w_zero_point %q : tensor<4xi8> strides [2, 2] dilations [1, 1] pads [1, 1, 1, 1] : (tensor<1x3x8x8xui8>, tensor<4x3x3x3xi8>) -> tensor<1x4x4x4xi32>
  %0 = graph.conv_integer %x, %w x_zero_point %p : tensor<ui8> w_zero_point %q : tensor<4xi8> strides [2, 2] dilations [1, 1] pads [1, 1, 1, 1] : (tensor<1x3x8x8xui8>, tensor<4x3x3x3xi8>) -> tensor<1x4x4x4xi32>
  // CHECK: graph.conv_integer %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] border 128
  %1 = graph.conv_integer %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] border 128 : (tensor<1x3x8x8xui8>, tensor<4x3x3x3xi8>) -> tensor<1x4x8x8xi32>
  func.return
}

// CHECK-LABEL: @keys
func.func @keys(%x: tensor<?x64xf32, #graph.dims<["N", 64]>>, %w: tensor<64x32xf32>) {
  // CHECK: graph.observe %x key "layer1.0/Conv:0" role "activation" to ui8 : tensor<?x64xf32, #graph.dims<["N", 64]>>
  %0 = graph.observe %x key "layer1.0/Conv:0" role "activation" to ui8 : tensor<?x64xf32, #graph.dims<["N", 64]>> -> tensor<?x64xf32, #graph.dims<["N", 64]>>
  // CHECK: graph.observe %w key "a:1" role "weight" to i8 axis 1 : tensor<64x32xf32>
  %1 = graph.observe %w key "a:1" role "weight" to i8 axis 1 : tensor<64x32xf32> -> tensor<64x32xf32>
  // CHECK: graph.observe %w key "b:1" role "weight" to i4 axis 0 block 32 : tensor<64x32xf32>
  %2 = graph.observe %w key "b:1" role "weight" to i4 axis 0 block 32 : tensor<64x32xf32> -> tensor<64x32xf32>
  func.return
}

// Another function may have the same keys.
// CHECK-LABEL: @again
func.func @again(%x: tensor<4xf32>) {
  // CHECK: key "a:1" role "result"
  %0 = graph.observe %x key "a:1" role "result" to i8 : tensor<4xf32> -> tensor<4xf32>
  func.return
}

// CHECK-LABEL: @nbits
func.func @nbits(%x: tensor<?x80xf32, #graph.dims<["M", 80]>>, %c: tensor<2x12x32xi32>, %s: tensor<2x3x32xf32>, %z: tensor<2x3x32xui8>, %q: tensor<4x24xi32>, %t: tensor<4x3xf32>, %r: tensor<4x80xf32>) {
  // CHECK: graph.matmul_nbits %x, %c, %s columns 60 bits 4 block 32 : ({{.*}}) -> tensor<?x60xf32, #graph.dims<["M", 60]>>
  %0 = graph.matmul_nbits %x, %c, %s columns 60 bits 4 block 32 : (tensor<?x80xf32, #graph.dims<["M", 80]>>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<?x60xf32, #graph.dims<["M", 60]>>
  // CHECK: graph.matmul_nbits %x, %c, %s zero_points %z : tensor<2x3x32xui8> columns 60 bits 4 block 32 :
  %1 = graph.matmul_nbits %x, %c, %s zero_points %z : tensor<2x3x32xui8> columns 60 bits 4 block 32 : (tensor<?x80xf32, #graph.dims<["M", 80]>>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<?x60xf32, #graph.dims<["M", 60]>>
  // CHECK: graph.matmul_nbits %q, %c, %s x_scales %t : tensor<4x3xf32> columns 60 bits 4 block 32 :
  %2 = graph.matmul_nbits %q, %c, %s x_scales %t : tensor<4x3xf32> columns 60 bits 4 block 32 : (tensor<4x24xi32>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<4x60xf32>
  // CHECK: graph.matmul_nbits %r, %c, %s x_scales %t : tensor<4x3xf32> row_bytes %q : tensor<4x24xi32> few 4 columns 60 bits 4 block 32 :
  %3 = graph.matmul_nbits %r, %c, %s x_scales %t : tensor<4x3xf32> row_bytes %q : tensor<4x24xi32> few 4 columns 60 bits 4 block 32 : (tensor<4x80xf32>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<4x60xf32>
  func.return
}
