// RUN: stepwell-opt %s -p 'pack-bfloats{lanes=4 always=true}' --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p 'pack-bfloats{lanes=4 always=true},pack-bfloats{lanes=4 always=true}' --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p 'pack-bfloats{lanes=1 always=true}' --split-input-file | filecheck %s --check-prefix=SCALAR
// SCALAR-NOT: pairs true

// Two rows of the matrix in each element, the first one lower: bf16 of 1 is 0x3f80, of 2 is 0x4000.
// CHECK-LABEL: @product
// CHECK: %[[B:.*]] = graph.constant dense<1073758080> : tensor<1x1x4xi32>
// CHECK: %[[I:.*]] = graph.bitcast %a to i16 : tensor<3x2xbf16> -> tensor<3x2xi16>
// CHECK: %[[A:.*]] = graph.words %[[I]] : tensor<3x2xi16> -> tensor<3x1xi32>
// CHECK: %[[Y:.*]] = graph.matmul %[[A]], %[[B]] packing 4 pairs true : (tensor<3x1xi32>, tensor<1x1x4xi32>) -> tensor<3x4xf32>
// CHECK: func.return %[[Y]]
func.func @product(%a: tensor<3x2xbf16>) -> tensor<3x4xf32> {
  %b = graph.constant dense<[[1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0]]> : tensor<2x4xbf16>
  %y = graph.matmul %a, %b out_type f32 : (tensor<3x2xbf16>, tensor<2x4xbf16>) -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// -----

// A transposed matrix has the pairs in its rows; the operand is packed once; a result of bf16 is rounded at the end.
// CHECK-LABEL: @transposed
// CHECK: graph.constant dense<1073758080> : tensor<1x1x4xi32>
// CHECK: %[[A:.*]] = graph.words
// CHECK-NOT: graph.words
// CHECK: %[[Y:.*]] = graph.matmul %[[A]], %{{.*}} packing 4 pairs true
// CHECK: %[[Z:.*]] = graph.cast %[[Y]] to bf16
// CHECK: graph.matmul %[[A]], %{{.*}} packing 4 pairs true
func.func @transposed(%a: tensor<3x2xbf16>) -> (tensor<3x4xbf16>, tensor<3x4xf32>) {
  %b = graph.constant dense<[[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]> : tensor<4x2xbf16>
  %y = graph.matmul %a, %b transpose_b true : (tensor<3x2xbf16>, tensor<4x2xbf16>) -> tensor<3x4xbf16>
  %z = graph.matmul %a, %b transpose_b true out_type f32 : (tensor<3x2xbf16>, tensor<4x2xbf16>) -> tensor<3x4xf32>
  func.return %y, %z : tensor<3x4xbf16>, tensor<3x4xf32>
}

// -----

// A sum of three products, columns that fill no panel, and a matrix that is no constant remain as they are.
// CHECK-LABEL: @remains
// CHECK-NOT: pairs true
func.func @remains(%a: tensor<3x3xbf16>, %c: tensor<3x2xbf16>, %d: tensor<2x4xbf16>) -> (tensor<3x4xf32>, tensor<3x3xf32>, tensor<3x4xf32>) {
  %b = graph.constant dense<1.0> : tensor<3x4xbf16>
  %e = graph.constant dense<1.0> : tensor<2x3xbf16>
  %y = graph.matmul %a, %b out_type f32 : (tensor<3x3xbf16>, tensor<3x4xbf16>) -> tensor<3x4xf32>
  %z = graph.matmul %c, %e out_type f32 : (tensor<3x2xbf16>, tensor<2x3xbf16>) -> tensor<3x3xf32>
  %u = graph.matmul %c, %d out_type f32 : (tensor<3x2xbf16>, tensor<2x4xbf16>) -> tensor<3x4xf32>
  func.return %y, %z, %u : tensor<3x4xf32>, tensor<3x3xf32>, tensor<3x4xf32>
}

// -----

// Blocks of four channels are two pairs.
// CHECK-LABEL: @blocks
// CHECK: %[[W:.*]] = graph.constant dense<1065369472> : tensor<1x1x1x1x2x4xi32>
// CHECK: %[[R:.*]] = graph.cast %x to bf16
// CHECK: %[[I:.*]] = graph.bitcast %[[R]] to i16
// CHECK: %[[X:.*]] = graph.words %[[I]] : tensor<1x1x6x6x4xi16> -> tensor<1x1x6x6x2xi32>
// CHECK: graph.conv %[[X]], %[[W]] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] pairs true data_layout "NCHW2c" kernel_layout "OIHW2i4o" out_layout "NCHW4c" : (tensor<1x1x6x6x2xi32>, tensor<1x1x1x1x2x4xi32>) -> tensor<1x1x3x3x4xf32>
func.func @blocks(%x: tensor<1x1x6x6x4xf32>) -> tensor<1x1x3x3x4xf32> {
  %w = graph.constant dense<1.0> : tensor<1x1x1x1x4x4xf32>
  %r = graph.cast %x to bf16 saturate true round "nearest" : tensor<1x1x6x6x4xf32> -> tensor<1x1x6x6x4xbf16>
  %f = graph.cast %r to f32 saturate true round "nearest" : tensor<1x1x6x6x4xbf16> -> tensor<1x1x6x6x4xf32>
  %y = graph.conv %f, %w strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] data_layout "NCHW4c" kernel_layout "OIHW4i4o"
    : (tensor<1x1x6x6x4xf32>, tensor<1x1x1x1x4x4xf32>) -> tensor<1x1x3x3x4xf32>
  func.return %y : tensor<1x1x3x3x4xf32>
}

// -----

// An operand that was not rounded, channels in order, and filters that are no constant remain as they are.
// CHECK-LABEL: @others
// CHECK-NOT: pairs true
func.func @others(%x: tensor<1x1x6x6x4xf32>, %n: tensor<1x4x6x6xbf16>, %v: tensor<1x1x1x1x4x4xf32>) -> (tensor<1x1x6x6x4xf32>, tensor<1x4x6x6xf32>, tensor<1x1x6x6x4xf32>) {
  %w = graph.constant dense<1.0> : tensor<1x1x1x1x4x4xf32>
  %o = graph.constant dense<1.0> : tensor<4x4x1x1xf32>
  %y = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] data_layout "NCHW4c" kernel_layout "OIHW4i4o"
    : (tensor<1x1x6x6x4xf32>, tensor<1x1x1x1x4x4xf32>) -> tensor<1x1x6x6x4xf32>
  %f = graph.cast %n to f32 saturate true round "nearest" : tensor<1x4x6x6xbf16> -> tensor<1x4x6x6xf32>
  %z = graph.conv %f, %o strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0]
    : (tensor<1x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x6xf32>
  %r = graph.cast %x to bf16 saturate true round "nearest" : tensor<1x1x6x6x4xf32> -> tensor<1x1x6x6x4xbf16>
  %g = graph.cast %r to f32 saturate true round "nearest" : tensor<1x1x6x6x4xbf16> -> tensor<1x1x6x6x4xf32>
  %u = graph.conv %g, %v strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] data_layout "NCHW4c" kernel_layout "OIHW4i4o"
    : (tensor<1x1x6x6x4xf32>, tensor<1x1x1x1x4x4xf32>) -> tensor<1x1x6x6x4xf32>
  func.return %y, %z, %u : tensor<1x1x6x6x4xf32>, tensor<1x4x6x6xf32>, tensor<1x1x6x6x4xf32>
}

// -----

// A first layer reads neighbours in a row together: padding of one is a tap of zero, whose pair is the first tap,
// and the last pair has no padding left. (0, 1) is 0x3f800000, (2, 3) 0x40404000.
// CHECK-LABEL: @rows
// CHECK: %[[W:.*]] = graph.constant dense<{{.*}}1065353216, 1065353216, 1065353216, 1065353216], [1077952512, 1077952512, 1077952512, 1077952512]{{.*}}> : tensor<1x1x1x2x4xi32>
// CHECK: %[[X:.*]] = graph.words %{{.*}} : tensor<1x1x6x6xi16> -> tensor<1x1x6x3xi32>
// CHECK: graph.conv %[[X]], %[[W]] strides [2, 1] dilations [1, 1] pads [0, 1, 0, 0] pairs true kernel_layout "OIHW4o" out_layout "NCHW4c" : (tensor<1x1x6x3xi32>, tensor<1x1x1x2x4xi32>) -> tensor<1x1x3x3x4xf32>
func.func @rows(%x: tensor<1x1x6x6xbf16>) -> tensor<1x1x3x3x4xf32> {
  %w = graph.constant dense<[[[[[1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0], [3.0, 3.0, 3.0, 3.0]]]]]> : tensor<1x1x1x3x4xf32>
  %f = graph.cast %x to f32 saturate true round "nearest" : tensor<1x1x6x6xbf16> -> tensor<1x1x6x6xf32>
  %y = graph.conv %f, %w strides [2, 2] dilations [1, 1] pads [0, 1, 0, 0] kernel_layout "OIHW4o" out_layout "NCHW4c" : (tensor<1x1x6x6xf32>, tensor<1x1x1x3x4xf32>) -> tensor<1x1x3x3x4xf32>
  func.return %y : tensor<1x1x3x3x4xf32>
}

// -----

// An odd step or width, a dilation, and single taps, which pairs would double, remain.
// CHECK-LABEL: @single
// CHECK-NOT: pairs true
func.func @single(%x: tensor<1x1x6x6xbf16>, %z: tensor<1x1x6x7xbf16>) -> (tensor<1x1x6x4x4xf32>, tensor<1x1x6x3x4xf32>, tensor<1x1x6x1x4xf32>, tensor<1x1x6x3x4xf32>) {
  %w = graph.constant dense<1.0> : tensor<1x1x1x3x4xf32>
  %v = graph.constant dense<1.0> : tensor<1x1x1x1x4xf32>
  %f = graph.cast %x to f32 saturate true round "nearest" : tensor<1x1x6x6xbf16> -> tensor<1x1x6x6xf32>
  %g = graph.cast %z to f32 saturate true round "nearest" : tensor<1x1x6x7xbf16> -> tensor<1x1x6x7xf32>
  %0 = graph.conv %f, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] kernel_layout "OIHW4o" out_layout "NCHW4c" : (tensor<1x1x6x6xf32>, tensor<1x1x1x3x4xf32>) -> tensor<1x1x6x4x4xf32>
  %1 = graph.conv %g, %w strides [1, 2] dilations [1, 1] pads [0, 0, 0, 0] data_layout "NCHW" kernel_layout "OIHW4o" out_layout "NCHW4c" : (tensor<1x1x6x7xf32>, tensor<1x1x1x3x4xf32>) -> tensor<1x1x6x3x4xf32>
  %2 = graph.conv %f, %w strides [1, 2] dilations [1, 2] pads [0, 0, 0, 0] kernel_layout "OIHW4o" out_layout "NCHW4c" : (tensor<1x1x6x6xf32>, tensor<1x1x1x3x4xf32>) -> tensor<1x1x6x1x4xf32>
  %3 = graph.conv %f, %v strides [1, 2] dilations [1, 1] pads [0, 0, 0, 0] data_layout "NCHW" kernel_layout "OIHW4o" out_layout "NCHW4c" : (tensor<1x1x6x6xf32>, tensor<1x1x1x1x4xf32>) -> tensor<1x1x6x3x4xf32>
  func.return %0, %1, %2, %3 : tensor<1x1x6x4x4xf32>, tensor<1x1x6x3x4xf32>, tensor<1x1x6x1x4xf32>, tensor<1x1x6x3x4xf32>
}

// -----

// Attention reads what was rounded and rounds it itself, the weights of the values too; its mask stays as it is.
// CHECK-LABEL: @attention
// CHECK: graph.attention %q, %k, %v mask %m : tensor<5xf32> scale 5.000000e-01 pairs true
func.func @attention(%q: tensor<2x3x4xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x6xf32>, %m: tensor<5xf32>) -> tensor<2x3x6xf32> {
  %0 = graph.cast %q to bf16 saturate true round "nearest" : tensor<2x3x4xf32> -> tensor<2x3x4xbf16>
  %1 = graph.cast %0 to f32 saturate true round "nearest" : tensor<2x3x4xbf16> -> tensor<2x3x4xf32>
  %2 = graph.cast %k to bf16 saturate true round "nearest" : tensor<2x5x4xf32> -> tensor<2x5x4xbf16>
  %3 = graph.cast %2 to f32 saturate true round "nearest" : tensor<2x5x4xbf16> -> tensor<2x5x4xf32>
  %4 = graph.cast %v to bf16 saturate true round "nearest" : tensor<2x5x6xf32> -> tensor<2x5x6xbf16>
  %5 = graph.cast %4 to f32 saturate true round "nearest" : tensor<2x5x6xbf16> -> tensor<2x5x6xf32>
  %y = graph.attention %1, %3, %5 mask %m : tensor<5xf32> scale 0.5 : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>) -> tensor<2x3x6xf32>
  func.return %y : tensor<2x3x6xf32>
}

// -----

// Values that were not rounded, keys that a model has in bf16, and an odd depth remain.
// CHECK-LABEL: @exact
// CHECK-NOT: pairs true
func.func @exact(%q: tensor<2x4xf32>, %k: tensor<2x4xbf16>, %v: tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x3xf32>) {
  %0 = graph.cast %q to bf16 saturate true round "nearest" : tensor<2x4xf32> -> tensor<2x4xbf16>
  %1 = graph.cast %0 to f32 saturate true round "nearest" : tensor<2x4xbf16> -> tensor<2x4xf32>
  %2 = graph.cast %k to f32 saturate true round "nearest" : tensor<2x4xbf16> -> tensor<2x4xf32>
  %3 = graph.cast %v to bf16 saturate true round "nearest" : tensor<2x3xf32> -> tensor<2x3xbf16>
  %4 = graph.cast %3 to f32 saturate true round "nearest" : tensor<2x3xbf16> -> tensor<2x3xf32>
  %x = graph.attention %1, %1, %q scale 0.5 : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = graph.attention %1, %2, %1 scale 0.5 : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %z = graph.attention %4, %4, %4 scale 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %x, %y, %z : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x3xf32>
}
