// RUN: stepwell-opt %s -p 'convert-layout{block=2}' | filecheck %s
// RUN: stepwell-opt %s -p 'convert-layout{block=2},convert-layout{block=2}' | filecheck %s
// RUN: stepwell-opt %s -p 'ConvertLayout{conv="NCHW2c:OIHW2i2o"}' | filecheck %s
// RUN: stepwell-opt %s -p 'convert-layout{conv="NHWC:HWIO"}' | filecheck %s --check-prefix NHWC
// RUN: stepwell-opt %s -p 'convert-layout{conv="CHWN:IHWO"}' | filecheck %s --check-prefix CHWN
// RUN: not stepwell-opt %s -p 'convert-layout{conv="NHW:HWIO"}' 2>&1 | filecheck %s --check-prefix BAD
// RUN: not stepwell-opt %s -p 'convert-layout{conv="NHWC4c:HWIO"}' 2>&1 | filecheck %s --check-prefix BLOCKED
// BAD: error[bad-option]: "NHW:HWIO" needs N and C for images
// BLOCKED: error[bad-option]: "NHWC4c:HWIO" is not blocked as kernels are, such as "NCHW4c:OIHW4i4o"

// NHWC-LABEL: @chain
// NHWC: %[[IN:.*]] = graph.layout_transform %x from "NCHW" to "NHWC"
// NHWC: graph.conv %[[IN]], {{.*}} data_layout "NHWC" kernel_layout "HWIO"
// NHWC: graph.bias_add {{.*}} axis 3
// NHWC-NEXT: graph.add {{.*}}, %[[IN]]
// NHWC-NEXT: %[[POOL:.*]] = graph.pool {{.*}} data_layout "NHWC"
// NHWC-NEXT: %[[OUT:.*]] = graph.layout_transform %[[POOL]] from "NHWC" to "NCHW"
// NHWC-NEXT: return %[[OUT]]
// CHWN-LABEL: @chain
// CHWN: graph.conv {{.*}} data_layout "CHWN" kernel_layout "IHWO"
// CHWN: graph.bias_add {{.*}} axis 0

// Blocks stay from the first convolution to the result; biases and filters are rearranged at once.
// CHECK-LABEL: @chain
// CHECK-SAME: %[[X:[a-z]+]]: tensor<1x4x3x3xf32>
func.func @chain(%x: tensor<1x4x3x3xf32>) -> tensor<1x4x3x3xf32> {
  %w = graph.constant dense<[[[[1.0]], [[2.0]], [[3.0]], [[4.0]]], [[[5.0]], [[6.0]], [[7.0]], [[8.0]]], [[[9.0]], [[10.0]], [[11.0]], [[12.0]]], [[[13.0]], [[14.0]], [[15.0]], [[16.0]]]]> : tensor<4x4x1x1xf32>
  %b = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  // CHECK: %[[IN:.*]] = graph.layout_transform %[[X]] from "NCHW" to "NCHW2c" : tensor<1x4x3x3xf32> -> tensor<1x2x3x3x2xf32>
  // CHECK: %[[W:.*]] = graph.constant dense<{{\[\[\[\[\[\[}}1.000000e+00, 5.000000e+00], [2.000000e+00, 6.000000e+00]]]], {{.*}} : tensor<2x2x1x1x2x2xf32>
  // CHECK: %[[CONV:.*]] = graph.conv %[[IN]], %[[W]] {{.*}} data_layout "NCHW2c" kernel_layout "OIHW2i2o"
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x4x3x3xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x3x3xf32>
  // CHECK: %[[B:.*]] = graph.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
  // CHECK: %[[BIASED:.*]] = graph.bias_add %[[CONV]], %[[B]] axis 1
  %1 = graph.bias_add %0, %b axis 1 : (tensor<1x4x3x3xf32>, tensor<4xf32>) -> tensor<1x4x3x3xf32>
  // CHECK: %[[SUM:.*]] = graph.add %[[BIASED]], %[[IN]]
  %2 = graph.add %1, %x : (tensor<1x4x3x3xf32>, tensor<1x4x3x3xf32>) -> tensor<1x4x3x3xf32>
  // CHECK: %[[POOL:.*]] = graph.pool %[[SUM]] kind "max" {{.*}} data_layout "NCHW2c"
  %3 = graph.pool %2 kind "max" kernel [3, 3] strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] : tensor<1x4x3x3xf32> -> tensor<1x4x3x3xf32>
  // CHECK: %[[OUT:.*]] = graph.layout_transform %[[POOL]] from "NCHW2c" to "NCHW"
  // CHECK-NEXT: return %[[OUT]]
  func.return %3 : tensor<1x4x3x3xf32>
}

// A first layer of one channel reads NCHW. Three channels are padded to four; pixels' mean is plain by a reshape.
// CHECK-LABEL: @first
// CHECK-SAME: %[[X:[a-z]+]]: tensor<?x1x3x3xf32, #graph.dims<["N", 1, 3, 3]>>
func.func @first(%x: tensor<?x1x3x3xf32, #graph.dims<["N", 1, 3, 3]>>) -> tensor<?x3xf32, #graph.dims<["N", 3]>> {
  %w = graph.constant dense<[[[[1.0]]], [[[2.0]]], [[[3.0]]]]> : tensor<3x1x1x1xf32>
  // CHECK: %[[W:.*]] = graph.constant dense<{{.*}}0.000000e+00{{.*}}> : tensor<2x1x1x1x2xf32>
  // CHECK: %[[CONV:.*]] = graph.conv %[[X]], %[[W]] {{.*}} kernel_layout "OIHW2o" out_layout "NCHW2c"
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<?x1x3x3xf32, #graph.dims<["N", 1, 3, 3]>>, tensor<3x1x1x1xf32>) -> tensor<?x3x3x3xf32, #graph.dims<["N", 3, 3, 3]>>
  // CHECK: %[[POOL:.*]] = graph.pool %[[CONV]]
  %p = graph.pool %0 kind "max" kernel [1, 1] strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : tensor<?x3x3x3xf32, #graph.dims<["N", 3, 3, 3]>> -> tensor<?x3x3x3xf32, #graph.dims<["N", 3, 3, 3]>>
  // CHECK: %[[MEAN:.*]] = graph.reduce %[[POOL]] kind "mean" axes [2, 3]
  // CHECK: %[[ROW:.*]] = graph.reshape %[[MEAN]] {{.*}} -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.slice %[[ROW]] {{.*}} -> tensor<?x3xf32, #graph.dims<["N", 3]>>
  %1 = graph.reduce %p kind "mean" axes [2, 3] keep_dims false : tensor<?x3x3x3xf32, #graph.dims<["N", 3, 3, 3]>> -> tensor<?x3xf32, #graph.dims<["N", 3]>>
  func.return %1 : tensor<?x3xf32, #graph.dims<["N", 3]>>
}

// What has no blocked form gets NCHW back; a division could make NaN of the padding, so it is plain as well.
// CHECK-LABEL: @outside
func.func @outside(%x: tensor<1x3x2x1xf32>, %d: tensor<1x3x2x1xf32>) -> (tensor<1x3x2x1xf32>, tensor<1x3x2x1xf32>) {
  %w = graph.constant dense<[[[[1.0]]], [[[2.0]]], [[[3.0]]]]> : tensor<3x1x1x1xf32>
  // CHECK: graph.conv {{.*}} groups 4 data_layout "NCHW2c" kernel_layout "OIHW2o"
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 3 : (tensor<1x3x2x1xf32>, tensor<3x1x1x1xf32>) -> tensor<1x3x2x1xf32>
  // CHECK: %[[BACK:.*]] = graph.layout_transform {{.*}} from "NCHW2c" to "NCHW"
  // CHECK: %[[CUT:.*]] = graph.slice %[[BACK]]
  // CHECK: graph.divide %[[CUT]], %d
  %1 = graph.divide %0, %d : (tensor<1x3x2x1xf32>, tensor<1x3x2x1xf32>) -> tensor<1x3x2x1xf32>
  // CHECK: graph.reverse %[[CUT]]
  %2 = graph.reverse %0 axes [3] : tensor<1x3x2x1xf32> -> tensor<1x3x2x1xf32>
  func.return %1, %2 : tensor<1x3x2x1xf32>, tensor<1x3x2x1xf32>
}

// Depthwise convolutions and those of few channels, alone, run along rows that fill a vector.
// CHECK-LABEL: @alone
// CHECK-NOT: layout
func.func @alone(%x: tensor<1x4x2x2xf32>, %f: tensor<1x1x2x2xf32>) -> (tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>) {
  %w = graph.constant dense<[[[[1.0]]], [[[2.0]]], [[[3.0]]], [[[4.0]]]]> : tensor<4x1x1x1xf32>
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 4 : (tensor<1x4x2x2xf32>, tensor<4x1x1x1xf32>) -> tensor<1x4x2x2xf32>
  %v = graph.constant dense<[[[[1.0, 5.0]]], [[[2.0, 6.0]]], [[[3.0, 7.0]]], [[[4.0, 8.0]]]]> : tensor<4x1x1x2xf32>
  %1 = graph.conv %f, %v strides [1, 1] dilations [1, 1] pads [0, 0, 0, 1] : (tensor<1x1x2x2xf32>, tensor<4x1x1x2xf32>) -> tensor<1x4x2x2xf32>
  func.return %0, %1 : tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>
}

// Nothing to gain: groups of one filter, which share blocks; filters from outside.
// CHECK-LABEL: @untouched
// CHECK-NOT: layout_transform
func.func @untouched(%x: tensor<1x4x2x2xf32>, %f: tensor<4x2x1x1xf32>) -> tensor<1x4x2x2xf32> {
  %w = graph.constant dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]]> : tensor<2x2x1x1xf32>
  // CHECK: graph.conv {{.*}} groups 2 :
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 2 : (tensor<1x4x2x2xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x2x2xf32>
  // CHECK: graph.conv {{.*}} pads [0, 0, 0, 0] :
  %1 = graph.conv %0, %f strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x2x2x2xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x2x2xf32>
  func.return %1 : tensor<1x4x2x2xf32>
}

// Groups that fill blocks: the first reads the image as it is, the second reads blocks.
// CHECK-LABEL: @in_groups
// CHECK-SAME: %[[X:[a-z]+]]: tensor<1x4x3x3xf32>
func.func @in_groups(%x: tensor<1x4x3x3xf32>) -> tensor<1x4x3x3xf32> {
  %w = graph.constant dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]], [[[5.0]], [[6.0]]], [[[7.0]], [[8.0]]]]> : tensor<4x2x1x1xf32>
  // CHECK: %[[A:.*]] = graph.conv %[[X]], {{.*}} groups 2 kernel_layout "OIHW2o" out_layout "NCHW2c" : (tensor<1x4x3x3xf32>, tensor<2x2x1x1x2xf32>) -> tensor<1x2x3x3x2xf32>
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 2 : (tensor<1x4x3x3xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x3x3xf32>
  // CHECK: graph.conv %[[A]], {{.*}} groups 2 data_layout "NCHW2c" kernel_layout "OIHW2i2o" : (tensor<1x2x3x3x2xf32>, tensor<2x1x1x1x2x2xf32>)
  %1 = graph.conv %0, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 2 : (tensor<1x4x3x3xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x3x3xf32>
  func.return %1 : tensor<1x4x3x3xf32>
}

// Channels that do not fill their last block are read as they are, where steps past pixels leave no vectors.
// CHECK-LABEL: @odd_channels
// CHECK-SAME: %[[X:[a-z]+]]: tensor<1x3x4x4xf32>
func.func @odd_channels(%x: tensor<1x3x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %w = graph.constant dense<[[[[1.0]], [[2.0]], [[3.0]]], [[[5.0]], [[6.0]], [[7.0]]]]> : tensor<2x3x1x1xf32>
  // CHECK: graph.conv %[[X]], {{.*}} strides [3, 3] {{.*}} kernel_layout "OIHW2o" out_layout "NCHW2c"
  %0 = graph.conv %x, %w strides [3, 3] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>) -> tensor<1x2x2x2xf32>
  func.return %0 : tensor<1x2x2x2xf32>
}

// Transposes from and to channels last are one move with the change of layout.
// CHECK-LABEL: @channels_last
// CHECK-SAME: %[[X:[a-z]+]]: tensor<1x4x2x2xf32>
func.func @channels_last(%x: tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32> {
  %w = graph.constant dense<[[[[1.0]]], [[[2.0]]], [[[3.0]]], [[[4.0]]]]> : tensor<4x1x1x1xf32>
  // CHECK: %[[CONV:.*]] = graph.conv
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 4 : (tensor<1x4x2x2xf32>, tensor<4x1x1x1xf32>) -> tensor<1x4x2x2xf32>
  // CHECK: %[[LAST:.*]] = graph.layout_transform %[[CONV]] from "NCHW2c" to "NHWC" : tensor<1x2x2x2x2xf32> -> tensor<1x2x2x4xf32>
  %1 = graph.transpose %0 perm [0, 2, 3, 1] : tensor<1x4x2x2xf32> -> tensor<1x2x2x4xf32>
  // CHECK: %[[EXP:.*]] = graph.exp %[[LAST]]
  %2 = graph.exp %1 : tensor<1x2x2x4xf32> -> tensor<1x2x2x4xf32>
  // CHECK: %[[FIRST:.*]] = graph.layout_transform %[[EXP]] from "NHWC" to "NCHW2c" : tensor<1x2x2x4xf32> -> tensor<1x2x2x2x2xf32>
  %3 = graph.transpose %2 perm [0, 3, 1, 2] : tensor<1x2x2x4xf32> -> tensor<1x4x2x2xf32>
  // CHECK: %[[NEG:.*]] = graph.neg %[[FIRST]]
  %4 = graph.neg %3 : tensor<1x4x2x2xf32> -> tensor<1x4x2x2xf32>
  // CHECK: graph.add %[[CONV]], %[[NEG]]
  %5 = graph.add %0, %4 : (tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
  func.return %5 : tensor<1x4x2x2xf32>
}

// Sequences are blocked like images.
// CHECK-LABEL: @sequence
func.func @sequence(%x: tensor<1x2x1xf32>) -> tensor<1x2x5xf32> {
  %w = graph.constant dense<[[[1.0, 5.0], [2.0, 6.0]], [[3.0, 7.0], [4.0, 8.0]]]> : tensor<2x2x2xf32>
  // CHECK: %[[CONV:.*]] = graph.conv {{.*}} data_layout "NCW2c" kernel_layout "OIW2i2o"
  %0 = graph.conv %x, %w strides [1] dilations [1] pads [1, 0] data_layout "NCW" kernel_layout "OIW" : (tensor<1x2x1xf32>, tensor<2x2x2xf32>) -> tensor<1x2x1xf32>
  // CHECK: graph.pad %[[CONV]] pads <[0, 0, 2, 0, 0, 0, 2, 0]>
  %1 = graph.pad %0 pads <[0, 0, 2, 0, 0, 2]> mode "constant" : tensor<1x2x1xf32> -> tensor<1x2x5xf32>
  func.return %1 : tensor<1x2x5xf32>
}

// A lone 1x1 convolution is a matrix product as it is; blocks would cost two passes over the image.
// CHECK-LABEL: @lone
// CHECK-NOT: layout_transform
// CHECK: return
func.func @lone(%x: tensor<1x2x3x3xf32>) -> tensor<1x4x3x3xf32> {
  %w = graph.constant dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]], [[[5.0]], [[6.0]]], [[[7.0]], [[8.0]]]]> : tensor<4x2x1x1xf32>
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x2x3x3xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x3x3xf32>
  %1 = graph.relu %0 : tensor<1x4x3x3xf32> -> tensor<1x4x3x3xf32>
  func.return %1 : tensor<1x4x3x3xf32>
}

// A logarithm of the zeros that fill the last block is infinite, and infinity times a filter of zeros NaN.
// CHECK-LABEL: @logarithm
func.func @logarithm(%x: tensor<1x3x2x1xf32>) -> tensor<1x3x2x1xf32> {
  %w = graph.constant dense<[[[[1.0]]], [[[2.0]]], [[[3.0]]]]> : tensor<3x1x1x1xf32>
  // CHECK: graph.conv {{.*}} groups 4 data_layout "NCHW2c" kernel_layout "OIHW2o"
  // CHECK: %[[BACK:.*]] = graph.layout_transform {{.*}} from "NCHW2c" to "NCHW"
  // CHECK: %[[CUT:.*]] = graph.slice %[[BACK]]
  // CHECK: graph.log %[[CUT]] : tensor<1x3x2x1xf32>
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 3 : (tensor<1x3x2x1xf32>, tensor<3x1x1x1xf32>) -> tensor<1x3x2x1xf32>
  %1 = graph.log %0 : tensor<1x3x2x1xf32> -> tensor<1x3x2x1xf32>
  %2 = graph.conv %1, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 3 : (tensor<1x3x2x1xf32>, tensor<3x1x1x1xf32>) -> tensor<1x3x2x1xf32>
  func.return %2 : tensor<1x3x2x1xf32>
}
