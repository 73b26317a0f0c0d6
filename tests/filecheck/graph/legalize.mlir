// RUN: stepwell-opt %s -p 'legalize{set="wide-floats"}' | filecheck %s
// RUN: stepwell-opt %s -p 'Legalize{set="wide-floats"},legalize{set="wide-floats"}' | filecheck %s
// RUN: not stepwell-opt %s -p 'legalize{set=unheard}' 2>&1 | filecheck %s --check-prefix BAD
// RUN: not stepwell-opt %s -p 'legalize' 2>&1 | filecheck %s --check-prefix NONE
// BAD: error[unknown-set]: no set of legalizations is named 'unheard'
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
