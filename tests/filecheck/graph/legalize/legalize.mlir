// RUN: stepwell-opt %s -p 'legalize{set="wide-floats"}' | filecheck %s
// RUN: stepwell-opt %s -p 'Legalize{set="wide-floats"},legalize{set="wide-floats"}' | filecheck %s
// RUN: stepwell-opt %s -p 'legalize{set=wide-convs}' | filecheck %s --check-prefix CONVS
// RUN: not stepwell-opt %s -p 'legalize{set=unheard}' 2>&1 | filecheck %s --check-prefix BAD
// RUN: not stepwell-opt %s -p 'legalize' 2>&1 | filecheck %s --check-prefix NONE
// BAD: error[bad-option]: no set of legalizations is named 'unheard'
// NONE: error[bad-option]

// CHECK-LABEL: @narrow
// CHECK-NEXT: %[[X:.*]] = graph.cast %x to f32
// CHECK-NEXT: %[[W:.*]] = graph.cast %w to f32
// CHECK-NEXT: %[[P:.*]] = graph.matmul %[[X]], %[[W]] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %[[N:.*]] = graph.cast %[[P]] to f16
// CHECK-NEXT: %[[T:.*]] = graph.transpose %[[N]]
// CHECK-NEXT: func.return %[[T]]
func.func @narrow(%x: tensor<4x4xf16>, %w: tensor<4x4xf16>) -> tensor<4x4xf16> {
  %p = graph.matmul %x, %w : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  %t = graph.transpose %p perm [1, 0] : tensor<4x4xf16> -> tensor<4x4xf16>
  func.return %t : tensor<4x4xf16>
}

// CHECK-LABEL: @wide
// CHECK-NEXT: graph.exp %x
// CHECK-NEXT: graph.cast
// CHECK-NEXT: func.return
func.func @wide(%x: tensor<4xf32>) -> tensor<4xf16> {
  %y = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
  %z = graph.cast %y to f16 saturate true round "nearest" : tensor<4xf32> -> tensor<4xf16>
  func.return %z : tensor<4xf16>
}

// The other set takes convolutions only: the sum stays what it is.
// CONVS-LABEL: @conv
// CONVS-NEXT: %[[X:.*]] = graph.cast %x to f32
// CONVS-NEXT: %[[W:.*]] = graph.cast %w to f32
// CONVS-NEXT: %[[C:.*]] = graph.conv %[[X]], %[[W]] {{.*}} -> tensor<1x4x1x3xf32>
// CONVS-NEXT: %[[Y:.*]] = graph.cast %[[C]] to f16
// CONVS-NEXT: graph.add %[[Y]], %[[Y]] : (tensor<1x4x1x3xf16>
func.func @conv(%x: tensor<1x2x1x5xf16>, %w: tensor<4x2x1x3xf16>) -> tensor<1x4x1x3xf16> {
  %y = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x2x1x5xf16>, tensor<4x2x1x3xf16>) -> tensor<1x4x1x3xf16>
  %s = graph.add %y, %y : (tensor<1x4x1x3xf16>, tensor<1x4x1x3xf16>) -> tensor<1x4x1x3xf16>
  func.return %s : tensor<1x4x1x3xf16>
}
