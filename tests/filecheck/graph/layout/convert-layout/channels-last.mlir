// RUN: stepwell-opt %s -p 'convert-layout{conv="NHWC:HWIO"},dead-code-elimination' | filecheck %s
// RUN: stepwell-opt %s -p 'convert-layout{conv="NHWC:HWIO"},convert-layout{conv="NHWC:HWIO"},dead-code-elimination' | filecheck %s
// RUN: stepwell-opt %s -p 'convert-layout{conv="CHWN:OHWI"}' | filecheck %s --check-prefix ANY
// ANY: graph.conv

// Transposes of a model that has channels last vanish; filters that are computed are transposed when it runs.
// CHECK-LABEL: @from_nhwc
// CHECK-NEXT: %[[W:.*]] = graph.layout_transform %w from "OIHW" to "HWIO"
// CHECK-NEXT: %[[C:.*]] = graph.conv %x, %[[W]]
// CHECK-NEXT: %[[R:.*]] = graph.relu %[[C]]
// CHECK-NEXT: func.return %[[R]]
func.func @from_nhwc(%x: tensor<1x5x5x3xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x3x3x4xf32> {
  %t = graph.transpose %x perm [0, 3, 1, 2] : tensor<1x5x5x3xf32> -> tensor<1x3x5x5xf32>
  %c = graph.conv %t, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x3x5x5xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x3x3xf32>
  %r = graph.relu %c : tensor<1x4x3x3xf32> -> tensor<1x4x3x3xf32>
  %y = graph.transpose %r perm [0, 2, 3, 1] : tensor<1x4x3x3xf32> -> tensor<1x3x3x4xf32>
  func.return %y : tensor<1x3x3x4xf32>
}

// Through padding, joins, broadcasts per channel and per pixel, resizes and means; groups stay groups.
// CHECK-LABEL: @through
// CHECK: graph.conv {{.*}} groups 2 data_layout "NHWC" kernel_layout "HWIO"
// CHECK: graph.pad {{.*}} pads <[0, 1, 0, 0, 0, 0, 2, 0]>
// CHECK: graph.concat {{.*}} axis 3
// CHECK: graph.multiply {{.*}} tensor<1x1x8xf32>
// CHECK: graph.layout_transform %p from "NCHW" to "NHWC"
// CHECK: graph.add
// CHECK: graph.resize
// CHECK: graph.reduce {{.*}} axes [1, 2] keep_dims true
// CHECK: graph.multiply
// CHECK: %[[Y:.*]] = graph.reduce {{.*}} axes [1, 2] keep_dims false : {{.*}} -> tensor<1x8xf32>
// CHECK-NEXT: func.return %[[Y]]
func.func @through(%x: tensor<1x2x5x5xf32>, %w: tensor<4x1x3x3xf32>, %p: tensor<1x1x6x7xf32>) -> tensor<1x8xf32> {
  %s = graph.constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]], [[5.0]], [[6.0]], [[7.0]], [[8.0]]]> : tensor<8x1x1xf32>
  %c = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] groups 2 : (tensor<1x2x5x5xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x5x5xf32>
  %q = graph.pad %c pads <[0, 0, 1, 0, 0, 0, 0, 2]> mode "reflect" : tensor<1x4x5x5xf32> -> tensor<1x4x6x7xf32>
  %r = graph.tanh %q : tensor<1x4x6x7xf32> -> tensor<1x4x6x7xf32>
  %j = graph.concat %q, %r axis 1 : (tensor<1x4x6x7xf32>, tensor<1x4x6x7xf32>) -> tensor<1x8x6x7xf32>
  %m = graph.multiply %j, %s : (tensor<1x8x6x7xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x7xf32>
  %a = graph.add %m, %p : (tensor<1x8x6x7xf32>, tensor<1x1x6x7xf32>) -> tensor<1x8x6x7xf32>
  %z = graph.resize %a shape <[1, 8, 12, 14]> scales [1.0, 1.0, 2.0, 2.0] mode "nearest" coordinate "asymmetric" nearest "floor" cubic_a -0.75 extrapolation 0.0 : tensor<1x8x6x7xf32> -> tensor<1x8x12x14xf32>
  %g = graph.reduce %z kind "mean" axes [2, 3] keep_dims true : tensor<1x8x12x14xf32> -> tensor<1x8x1x1xf32>
  %h = graph.multiply %z, %g : (tensor<1x8x12x14xf32>, tensor<1x8x1x1xf32>) -> tensor<1x8x12x14xf32>
  %y = graph.reduce %h kind "max" axes [2, 3] keep_dims false : tensor<1x8x12x14xf32> -> tensor<1x8xf32>
  func.return %y : tensor<1x8xf32>
}

// Sequences have no NHWC.
// CHECK-LABEL: @sequence
// CHECK-NEXT: graph.conv %x, %w
// CHECK-NEXT: func.return
func.func @sequence(%x: tensor<1x2x5xf32>, %w: tensor<4x2x3xf32>) -> tensor<1x4x3xf32> {
  %c = graph.conv %x, %w strides [1] dilations [1] pads [0, 0] data_layout "NCW" kernel_layout "OIW" : (tensor<1x2x5xf32>, tensor<4x2x3xf32>) -> tensor<1x4x3xf32>
  func.return %c : tensor<1x4x3xf32>
}
