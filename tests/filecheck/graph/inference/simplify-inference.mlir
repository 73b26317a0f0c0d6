// RUN: stepwell-opt %s -p simplify-inference | filecheck %s
// RUN: stepwell-opt %s -p 'simplify-inference{only=batch_norm}' | filecheck %s
// RUN: stepwell-opt %s -p simplify-inference,fold-constant,dead-code-elimination | filecheck %s --check-prefix=FOLDED
// RUN: not stepwell-opt %s -p 'simplify-inference{only=conv}' 2>&1 | filecheck %s --check-prefix=BAD
// BAD: error[bad-option]: simplify-inference has no rewrite for conv

// CHECK-LABEL: @main
// CHECK: %[[E:.*]] = graph.constant dense<{{.*}}> : tensor<f32>
// CHECK-NEXT: %[[V:.*]] = graph.add %{{.*}}, %[[E]]
// CHECK-NEXT: %[[R:.*]] = graph.rsqrt %[[V]]
// CHECK-NEXT: %[[S:.*]] = graph.multiply %{{.*}}, %[[R]]
// CHECK-NEXT: %[[M:.*]] = graph.multiply %{{.*}}, %[[S]]
// CHECK-NEXT: %[[B:.*]] = graph.subtract %{{.*}}, %[[M]]
// CHECK-NEXT: %[[T:.*]] = graph.expand_dims %[[S]] axes [1] : tensor<3xf32> -> tensor<3x1xf32>
// CHECK-NEXT: %[[X:.*]] = graph.multiply %x, %[[T]]
// CHECK-NEXT: graph.bias_add %[[X]], %[[B]] axis 1
// FOLDED-LABEL: @main
// FOLDED: graph.multiply
// FOLDED-NEXT: graph.bias_add
// FOLDED-NEXT: func.return
func.func @main(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %m = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %v = graph.constant dense<[4.0, 9.0, 16.0]> : tensor<3xf32>
  %y = graph.batch_norm %x mean %m variance %v scale %v bias %m eps 0.0 axis 1 : (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  func.return %y : tensor<2x3x4xf32>
}

// What reads the parts, and the function, learn the size of the channels from the statistics.
// CHECK-LABEL: @open_channels
// CHECK-SAME: -> tensor<1x3x4xf32>
// CHECK: graph.relu {{.*}} -> tensor<1x3x4xf32>
func.func @open_channels(%x: tensor<1x?x4xf32, #graph.dims<[1, "C", 4]>>, %m: tensor<3xf32>) -> tensor<1x?x4xf32, #graph.dims<[1, "C", 4]>> {
  %v = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %y = graph.batch_norm %x mean %m variance %v eps 1.0e-5 axis 1 : (tensor<1x?x4xf32, #graph.dims<[1, "C", 4]>>, tensor<3xf32>) -> tensor<1x?x4xf32, #graph.dims<[1, "C", 4]>>
  %z = graph.relu %y : tensor<1x?x4xf32, #graph.dims<[1, "C", 4]>> -> tensor<1x?x4xf32, #graph.dims<[1, "C", 4]>>
  func.return %z : tensor<1x?x4xf32, #graph.dims<[1, "C", 4]>>
}

// Narrow floats are computed in f32, and rounded once.
// CHECK-LABEL: @narrow
// CHECK: graph.rsqrt {{.*}} : tensor<3xf32> -> tensor<3xf32>
// CHECK: %[[W:.*]] = graph.cast %x to f32
// CHECK: %[[X:.*]] = graph.multiply %[[W]], %{{.*}} : (tensor<2x3x4xf32>, tensor<3x1xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %[[B:.*]] = graph.bias_add %[[X]], %{{.*}} axis 1
// CHECK-NEXT: %[[Y:.*]] = graph.cast %[[B]] to bf16
// CHECK-NEXT: func.return %[[Y]]
func.func @narrow(%x: tensor<2x3x4xbf16>, %m: tensor<3xbf16>, %v: tensor<3xbf16>) -> tensor<2x3x4xbf16> {
  %y = graph.batch_norm %x mean %m variance %v scale %v bias %m eps 1.0e-5 axis 1 : (tensor<2x3x4xbf16>, tensor<3xbf16>) -> tensor<2x3x4xbf16>
  func.return %y : tensor<2x3x4xbf16>
}

// Those of a convolution are multiplied by a narrow factor, which its weights take.
// CHECK-LABEL: @narrow_convolution
// CHECK: %[[C:.*]] = graph.conv
// CHECK: graph.rsqrt {{.*}} : tensor<4xf32> -> tensor<4xf32>
// CHECK: %[[X:.*]] = graph.multiply %[[C]], %{{.*}} : (tensor<1x4x6x6xbf16>, tensor<4x1x1xbf16>) -> tensor<1x4x6x6xbf16>
// CHECK: graph.bias_add %[[X]]
// CHECK-NEXT: func.return
func.func @narrow_convolution(%x: tensor<1x3x8x8xbf16>, %w: tensor<4x3x3x3xbf16>, %v: tensor<4xf32>) -> tensor<1x4x6x6xbf16> {
  %c = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x3x8x8xbf16>, tensor<4x3x3x3xbf16>) -> tensor<1x4x6x6xbf16>
  %y = graph.batch_norm %c mean %v variance %v eps 1.0e-5 axis 1 : (tensor<1x4x6x6xbf16>, tensor<4xf32>) -> tensor<1x4x6x6xbf16>
  func.return %y : tensor<1x4x6x6xbf16>
}
