// RUN: stepwell-opt %s -p approximate-math | filecheck %s
// RUN: stepwell-opt %s -p FastMath,approximate-math | filecheck %s
// RUN: stepwell-opt %s -p 'approximate-math{only=exp,erf}' | filecheck %s --check-prefix ONLY
// RUN: not stepwell-opt %s -p 'approximate-math{only=sin}' 2>&1 | filecheck %s --check-prefix BAD
// BAD: error[bad-option]: approximate-math has no rewrite for sin

// CHECK-LABEL: @all
// CHECK-NOT: graph.exp
// CHECK-NOT: graph.tanh
// CHECK-NOT: graph.sigmoid
// CHECK-NOT: graph.erf
// CHECK: graph.bitcast
// CHECK: graph.divide
// ONLY-LABEL: @all
// ONLY: graph.tanh
// ONLY: graph.sigmoid
// ONLY-NOT: graph.erf
func.func @all(%x: tensor<4x33xf32>) -> (tensor<4x33xf32>, tensor<4x33xf32>, tensor<4x33xf32>, tensor<4x33xf32>) {
  %a = graph.exp %x : tensor<4x33xf32> -> tensor<4x33xf32>
  %b = graph.tanh %x : tensor<4x33xf32> -> tensor<4x33xf32>
  %c = graph.sigmoid %x : tensor<4x33xf32> -> tensor<4x33xf32>
  %d = graph.erf %x : tensor<4x33xf32> -> tensor<4x33xf32>
  func.return %a, %b, %c, %d : tensor<4x33xf32>, tensor<4x33xf32>, tensor<4x33xf32>, tensor<4x33xf32>
}

// The polynomials are made for f32.
// CHECK-LABEL: @double
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.tanh
func.func @double(%x: tensor<4xf64>, %h: tensor<4xf16>) -> (tensor<4xf64>, tensor<4xf16>) {
  %a = graph.exp %x : tensor<4xf64> -> tensor<4xf64>
  %b = graph.tanh %h : tensor<4xf16> -> tensor<4xf16>
  func.return %a, %b : tensor<4xf64>, tensor<4xf16>
}
