// RUN: stepwell-opt %s -p convert-torch-to-graph | filecheck %s

// CHECK-LABEL: @linear
// CHECK: %[[W:.*]] = graph.constant
// CHECK: %[[T:.*]] = graph.transpose %[[W]] perm [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
// CHECK-NEXT: graph.matmul %x, %[[T]] : (tensor<?x4xf32, #graph.dims<["N", 4]>>, tensor<4x3xf32>) -> tensor<?x3xf32, #graph.dims<["N", 3]>>
// CHECK-NOT: torch.
func.func @linear(%x: tensor<?x4xf32, #graph.dims<["N", 4]>>) -> tensor<?x3xf32, #graph.dims<["N", 3]>> {
  %w = "torch.weight"() <{value = dense<1.0> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
  %y = "torch.aten.linear.default"(%x, %w) {torch.node = "linear"} : (tensor<?x4xf32, #graph.dims<["N", 4]>>, tensor<3x4xf32>) -> tensor<?x3xf32, #graph.dims<["N", 3]>>
  func.return %y : tensor<?x3xf32, #graph.dims<["N", 3]>>
}
// A factor of the product, none of the addend; `beta` 0 leaves the addend out.
// CHECK-LABEL: @addmm
// CHECK: %[[P:.*]] = graph.matmul %a, %b
// CHECK: %[[S:.*]] = graph.multiply %[[P]], %{{.*}} : (tensor<2x2xf32>, tensor<f32>)
// CHECK: graph.add %[[S]], %i
// CHECK: %[[Q:.*]] = graph.matmul %a, %b
// CHECK: func.return %{{.*}}, %[[Q]]
func.func @addmm(%i: tensor<2xf32>, %a: tensor<2x3xf32>, %b: tensor<3x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %y = "torch.aten.addmm.default"(%i, %a, %b) {alpha = 2.0 : f64} : (tensor<2xf32>, tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %z = "torch.aten.addmm.default"(%i, %a, %b) {beta = 0 : i64} : (tensor<2xf32>, tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  func.return %y, %z : tensor<2x2xf32>, tensor<2x2xf32>
}
// CHECK-LABEL: @einsum
// CHECK: graph.einsum "Aij,Ajk->Aik" %a, %b
// CHECK: graph.einsum "Aij,Ajk->Aik" %a, %b
func.func @einsum(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x5xf32>) {
  %y = "torch.aten.einsum.default"(%a, %b) {equation = "...ij, ...jk -> ...ik"} : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %z = "torch.aten.einsum.default"(%a, %b) {equation = "...ij,...jk"} : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  func.return %y, %z : tensor<2x3x5xf32>, tensor<2x3x5xf32>
}
// `same` puts the odd cell at the end; a feature map without a batch gets one.
// CHECK-LABEL: @conv
// CHECK: graph.conv %x, %w strides [1, 1] dilations [1, 2] pads [0, 1, 1, 1] : (tensor<1x2x8x8xf32>, tensor<4x2x2x2xf32>) -> tensor<1x4x8x8xf32>
// CHECK: %[[B:.*]] = graph.expand_dims %s axes [0]
// CHECK: graph.conv %[[B]], %w strides [2, 2]
// CHECK: graph.reshape %{{.*}} shape <[4, 4, 4]>
// CHECK: graph.conv_transpose %x, %v
func.func @conv(%x: tensor<1x2x8x8xf32>, %s: tensor<2x8x8xf32>, %w: tensor<4x2x2x2xf32>, %v: tensor<2x3x2x2xf32>) {
  %y = "torch.aten.conv2d.padding"(%x, %w) {padding = "same", dilation = [1, 2]} : (tensor<1x2x8x8xf32>, tensor<4x2x2x2xf32>) -> tensor<1x4x8x8xf32>
  %z = "torch.aten.conv2d.default"(%s, %w) {stride = [2, 2]} : (tensor<2x8x8xf32>, tensor<4x2x2x2xf32>) -> tensor<4x4x4xf32>
  %t = "torch.aten.convolution.default"(%x, %v) {stride = [2, 2], padding = [0, 0], dilation = [1, 1], transposed = true, output_padding = [0, 0], groups = 1} : (tensor<1x2x8x8xf32>, tensor<2x3x2x2xf32>) -> tensor<1x3x16x16xf32>
  func.return
}

// The products by the matrices are rounded, then those by the second operand.
// CHECK-LABEL: @bilinear
// CHECK: %[[R:.*]] = graph.einsum "Ai,oij->Aoj" %x, %w : {{.*}} -> tensor<2x5x4xbf16>
// CHECK: graph.einsum "Aoj,Aj->Ao" %[[R]], %y
func.func @bilinear(%x: tensor<2x3xbf16>, %y: tensor<2x4xbf16>, %w: tensor<5x3x4xbf16>) {
  %0 = "torch.aten.bilinear.default"(%x, %y, %w) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<2x3xbf16>, tensor<2x4xbf16>, tensor<5x3x4xbf16>) -> tensor<2x5xbf16>
  func.return
}

// CHECK-LABEL: @cross
// CHECK: %[[A:.*]] = graph.slice %x starts <[1]> limits <[2]>
// CHECK: %[[B:.*]] = graph.slice %y starts <[2]> limits <[3]>
// CHECK: %[[P:.*]] = graph.multiply %[[A]], %[[B]] : (tensor<1xbf16>, tensor<1xbf16>) -> tensor<1xbf16>
// CHECK: graph.subtract %[[P]]
// CHECK: graph.concat {{.*}} axis 0
func.func @cross(%x: tensor<3xbf16>, %y: tensor<3xbf16>) {
  %0 = "torch.aten.linalg_cross.default"(%x, %y) : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xbf16>
  func.return
}
