// RUN: stepwell-opt %s -p 'fold-constant,winograd-conv{lanes=16}' | filecheck %s
// RUN: stepwell-opt %s -p 'fold-constant,winograd-conv{lanes=16},winograd-conv{lanes=16}' | filecheck %s
// RUN: not stepwell-opt %s -p 'winograd-conv{mode=slow}' 2>&1 | filecheck %s --check-prefix BAD
// BAD: error[bad-option]: winograd-conv takes mode auto or fast, found 'slow'

// Filters are transformed now; the batch may be open.
// CHECK-LABEL: @rewritten
// CHECK: %[[U:.*]] = graph.constant #graph.weight<{{.*}}> : tensor<36x1x32x32xf32>
// CHECK: graph.winograd_conv %x, %[[U]] tile 4 pads [1, 1, 1, 1]
// CHECK-NOT: graph.conv
func.func @rewritten(%x: tensor<?x2x28x28x16xf32, #graph.dims<["N", 2, 28, 28, 16]>>) -> tensor<?x2x28x28x16xf32, #graph.dims<["N", 2, 28, 28, 16]>> {
  %hw = graph.constant dense<0.001> : tensor<f32>
  %w = graph.full %hw shape <[2, 2, 3, 3, 16, 16]> : tensor<f32> -> tensor<2x2x3x3x16x16xf32>
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] data_layout "NCHW16c" kernel_layout "OIHW16i16o" : (tensor<?x2x28x28x16xf32, #graph.dims<["N", 2, 28, 28, 16]>>, tensor<2x2x3x3x16x16xf32>) -> tensor<?x2x28x28x16xf32, #graph.dims<["N", 2, 28, 28, 16]>>
  func.return %0 : tensor<?x2x28x28x16xf32, #graph.dims<["N", 2, 28, 28, 16]>>
}

// Another stride, filters that are no constant, plain channels: unchanged.
// CHECK-LABEL: @unchanged
// CHECK-NOT: winograd
func.func @unchanged(%x: tensor<1x2x28x28x16xf32>, %v: tensor<2x2x3x3x16x16xf32>, %p: tensor<1x32x28x28xf32>) -> (tensor<1x2x14x14x16xf32>, tensor<1x2x28x28x16xf32>, tensor<1x32x28x28xf32>) {
  %hw = graph.constant dense<0.001> : tensor<f32>
  %w = graph.full %hw shape <[2, 2, 3, 3, 16, 16]> : tensor<f32> -> tensor<2x2x3x3x16x16xf32>
  %0 = graph.conv %x, %w strides [2, 2] dilations [1, 1] pads [1, 1, 1, 1] data_layout "NCHW16c" kernel_layout "OIHW16i16o" : (tensor<1x2x28x28x16xf32>, tensor<2x2x3x3x16x16xf32>) -> tensor<1x2x14x14x16xf32>
  %1 = graph.conv %x, %v strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] data_layout "NCHW16c" kernel_layout "OIHW16i16o" : (tensor<1x2x28x28x16xf32>, tensor<2x2x3x3x16x16xf32>) -> tensor<1x2x28x28x16xf32>
  %hu = graph.constant dense<0.001> : tensor<f32>
  %u = graph.full %hu shape <[32, 32, 3, 3]> : tensor<f32> -> tensor<32x32x3x3xf32>
  %2 = graph.conv %p, %u strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] : (tensor<1x32x28x28xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x28x28xf32>
  func.return %0, %1, %2 : tensor<1x2x14x14x16xf32>, tensor<1x2x28x28x16xf32>, tensor<1x32x28x28xf32>
}
