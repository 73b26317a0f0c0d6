// RUN: stepwell-opt %s -p canonicalize-cast | filecheck %s
// RUN: stepwell-opt %s -p CanonicalizeCast,canonicalize-cast | filecheck %s
// RUN: stepwell-opt %s -p canonicalize-cast,eliminate-common-subexpr | filecheck %s --check-prefix MERGED

// Three readers, three casts; a reader that reads twice gets one.
// CHECK-LABEL: @widening
// CHECK: %[[A:.*]] = graph.cast %x to f32
// CHECK-NEXT: graph.exp %[[A]]
// CHECK-NEXT: %[[B:.*]] = graph.cast %x to f32
// CHECK-NEXT: graph.multiply %[[B]], %[[B]]
// CHECK-NEXT: %[[C:.*]] = graph.cast %x to f32
// CHECK-NEXT: func.return %{{.*}}, %{{.*}}, %[[C]]
// MERGED-LABEL: @widening
// MERGED: graph.cast
// MERGED-NOT: graph.cast
// MERGED: func.return
func.func @widening(%x: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c = graph.cast %x to f32 saturate true round "nearest" : tensor<4xf16> -> tensor<4xf32>
  %y = graph.exp %c : tensor<4xf32> -> tensor<4xf32>
  %z = graph.multiply %c, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y, %z, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A narrowing one, and one between types of one width, are computed once.
// CHECK-LABEL: @kept
// CHECK: graph.cast
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.neg
// CHECK-NEXT: graph.cast
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.neg
func.func @kept(%x: tensor<4xf64>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c = graph.cast %x to f32 saturate true round "nearest" : tensor<4xf64> -> tensor<4xf32>
  %y = graph.exp %c : tensor<4xf32> -> tensor<4xf32>
  %z = graph.neg %c : tensor<4xf32> -> tensor<4xf32>
  %d = graph.cast %i to f32 saturate true round "nearest" : tensor<4xi32> -> tensor<4xf32>
  %v = graph.exp %d : tensor<4xf32> -> tensor<4xf32>
  %w = graph.neg %d : tensor<4xf32> -> tensor<4xf32>
  func.return %y, %z, %v, %w : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
