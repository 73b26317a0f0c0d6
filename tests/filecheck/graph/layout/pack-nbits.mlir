// RUN: stepwell-opt %s -p 'pack-nbits{lanes=1 min-elems=1}' | filecheck %s --check-prefix=SCALAR
// RUN: stepwell-opt %s -p 'pack-nbits{lanes=2 min-elems=1}' | filecheck %s
// RUN: stepwell-opt %s -p 'pack-nbits{lanes=2 min-elems=1},pack-nbits{lanes=2 min-elems=1}' | filecheck %s
// RUN: stepwell-opt %s -p pack-nbits | filecheck %s --check-prefix=SMALL

// RUN: stepwell-opt %s -p 'pack-nbits{lanes=2 min-elems=1 activations=int8}' | filecheck %s --check-prefix=BYTES
// RUN: stepwell-opt %s -p 'pack-nbits{lanes=2 min-elems=1 activations=auto}' | filecheck %s --check-prefix=AUTO
// RUN: not stepwell-opt %s -p 'pack-nbits{activations=int4}' 2>&1 | filecheck %s --check-prefix=BAD
// BAD: error[bad-option]: pack-nbits takes activations auto, f32, int8, found 'int4'

// A panel of 12 columns, of which 2 exist; eight codes share an element. A block of 16 has 8 steps.
// CHECK-LABEL: @four_bits
// CHECK: %[[C:.*]] = graph.constant {{.*}} : tensor<1x2x12xi32>
// CHECK: %[[S:.*]] = graph.constant dense<[{{\[}}[5.000000e-01, 2.000000e+00, 0.000000e+00
// CHECK: graph.matmul_nbits %x, %[[C]], %[[S]] zero_points %{{.*}} : tensor<1x1x12xui8> columns 2 bits 4 block 16
// CHECK-NOT: graph.dequantize
// SMALL-LABEL: @four_bits
// SMALL: graph.dequantize
// SMALL: graph.matmul %
// Rows become bytes, padded to whole blocks: the greatest number of a block is 127 scales.
// BYTES-LABEL: @four_bits
// BYTES: %[[X:.*]] = graph.pad %x with %{{.*}} pads <[0, 0, 0, 8]>
// BYTES: %[[PARTS:.*]] = graph.reshape %[[X]] {{.*}} -> tensor<?x1x16xf32
// BYTES: %[[ABS:.*]] = graph.abs %[[PARTS]]
// BYTES: %[[MAX:.*]] = graph.reduce %[[ABS]] {{.*}}"max"
// BYTES: %[[T:.*]] = graph.multiply %[[MAX]]
// BYTES: %[[Q:.*]] = graph.quantize %[[X]], %[[T]] axis 1 block 16 to i8
// BYTES: %[[E:.*]] = graph.words %[[Q]] : tensor<?x16xi8, {{.*}}> -> tensor<?x4xi32
// BYTES: graph.matmul_nbits %[[E]], %{{.*}} zero_points %{{.*}} x_scales %[[T]] : tensor<?x1xf32, {{.*}}> columns 2
// SCALAR-LABEL: @four_bits
// SCALAR: graph.dequantize
func.func @four_bits(%x: tensor<?x8xf32, #graph.dims<["M", 8]>>) -> tensor<?x2xf32, #graph.dims<["M", 2]>> {
  %q = graph.constant dense<[[0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 0, 0, 0, 0, 0, 0]]> : tensor<2x8xui4>
  %s = graph.constant dense<[[0.5], [2.0]]> : tensor<2x1xf32>
  %w = graph.dequantize %q, %s axis 1 block 16 to f32 : (tensor<2x8xui4>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %y = graph.matmul %x, %w transpose_b true : (tensor<?x8xf32, #graph.dims<["M", 8]>>, tensor<2x8xf32>) -> tensor<?x2xf32, #graph.dims<["M", 2]>>
  func.return %y : tensor<?x2xf32, #graph.dims<["M", 2]>>
}

// Signed codes become unsigned ones: 0 is the middle code, and needs no zero points.
// CHECK-LABEL: @signed
// CHECK: graph.constant {{.*}} : tensor<1x4x12xi32>
// CHECK: graph.matmul_nbits %x, %{{.*}}, %{{.*}} columns 2 bits 8 block 16
func.func @signed(%x: tensor<3x1xf32>) -> tensor<3x2xf32> {
  %q = graph.constant dense<[[1], [-2]]> : tensor<2x1xi8>
  %s = graph.constant dense<[0.5, 2.0]> : tensor<2xf32>
  %w = graph.dequantize %q, %s to f32 : (tensor<2x1xi8>, tensor<2xf32>) -> tensor<2x1xf32>
  %y = graph.matmul %x, %w transpose_b true : (tensor<3x1xf32>, tensor<2x1xf32>) -> tensor<3x2xf32>
  func.return %y : tensor<3x2xf32>
}

// A scale for each step is no block of a column; codes that are no constant are packed by nobody.
// CHECK-LABEL: @unchanged
// CHECK-NOT: matmul_nbits
func.func @unchanged(%x: tensor<3x2xf32>, %c: tensor<2x2xi8>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %q = graph.constant dense<[[1, 2], [-2, 3]]> : tensor<2x2xi8>
  %s = graph.constant dense<[0.5, 2.0]> : tensor<2xf32>
  %w = graph.dequantize %q, %s axis 1 to f32 : (tensor<2x2xi8>, tensor<2xf32>) -> tensor<2x2xf32>
  %y = graph.matmul %x, %w transpose_b true : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %v = graph.dequantize %c, %s to f32 : (tensor<2x2xi8>, tensor<2xf32>) -> tensor<2x2xf32>
  %z = graph.matmul %x, %v transpose_b true : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  func.return %y, %z : tensor<3x2xf32>, tensor<3x2xf32>
}

// Where the model permits bytes, more than four rows are bytes: both are there for open rows, else what the rows are.
// AUTO-LABEL: @four_bits
// AUTO-NOT: graph.quantize
// AUTO-LABEL: @permitted
// AUTO: %[[Q:.*]] = graph.quantize %{{.*}}, %[[T:.*]] axis 1 block 16 to i8
// AUTO: %[[E:.*]] = graph.words %[[Q]]
// AUTO: graph.matmul_nbits %x, %{{.*}} x_scales %[[T]] : tensor<?x1xf32, {{.*}}> row_bytes %[[E]] : tensor<?x4xi32, {{.*}}> few 4 columns 2 bits 4 block 16
// AUTO-NOT: bytes_permitted
// CHECK-LABEL: @permitted
// CHECK-NOT: row_bytes
func.func @permitted(%x: tensor<?x8xf32, #graph.dims<["M", 8]>>) -> tensor<?x2xf32, #graph.dims<["M", 2]>> {
  %q = graph.constant dense<[[0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 0, 0, 0, 0, 0, 0]]> : tensor<2x8xui4>
  %s = graph.constant dense<[[0.5], [2.0]]> : tensor<2x1xf32>
  %w = graph.dequantize %q, %s axis 1 block 16 to f32 : (tensor<2x8xui4>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %y = graph.matmul %x, %w transpose_b true {graph.bytes_permitted} : (tensor<?x8xf32, #graph.dims<["M", 8]>>, tensor<2x8xf32>) -> tensor<?x2xf32, #graph.dims<["M", 2]>>
  func.return %y : tensor<?x2xf32, #graph.dims<["M", 2]>>
}

// AUTO-LABEL: @four_rows
// AUTO: graph.matmul_nbits %x, %{{.*}} columns 2 bits 4 block 16
// AUTO: %[[X:.*]] = graph.pad %y
// AUTO: graph.quantize %[[X]]
// AUTO: %[[E:.*]] = graph.words
// AUTO: graph.matmul_nbits %[[E]], %{{.*}} x_scales %{{.*}} : tensor<5x1xf32> columns 2 bits 4 block 16
// AUTO: graph.matmul_nbits %{{.*}} x_scales %{{.*}} columns 2 bits 8
func.func @four_rows(%x: tensor<4x8xf32>, %y: tensor<5x8xf32>) -> (tensor<4x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>) {
  %q = graph.constant dense<3> : tensor<2x8xui4>
  %s = graph.constant dense<[[0.5], [2.0]]> : tensor<2x1xf32>
  %w = graph.dequantize %q, %s axis 1 block 16 to f32 : (tensor<2x8xui4>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %0 = graph.matmul %x, %w transpose_b true {graph.bytes_permitted} : (tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<4x2xf32>
  %1 = graph.matmul %y, %w transpose_b true {graph.bytes_permitted} : (tensor<5x8xf32>, tensor<2x8xf32>) -> tensor<5x2xf32>
  %p = graph.constant dense<3> : tensor<2x8xui8>
  %v = graph.dequantize %p, %s axis 1 block 16 to f32 : (tensor<2x8xui8>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %2 = graph.matmul %y, %v transpose_b true {graph.bytes_permitted} : (tensor<5x8xf32>, tensor<2x8xf32>) -> tensor<5x2xf32>
  func.return %0, %1, %2 : tensor<4x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>
}
