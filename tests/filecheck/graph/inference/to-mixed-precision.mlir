// RUN: stepwell-opt %s -p to-mixed-precision | filecheck %s
// RUN: stepwell-opt %s -p ToMixedPrecision,to-mixed-precision,dead-code-elimination | filecheck %s
// RUN: stepwell-opt %s -p 'to-mixed-precision{dtype=f16}' --remarks 2>&1 | filecheck %s --check-prefix HALF
// RUN: stepwell-opt %s -p 'to-mixed-precision{never=matmul}' | filecheck %s --check-prefix NEVER
// RUN: not stepwell-opt %s -p 'to-mixed-precision{dtype=f8}' 2>&1 | filecheck %s --check-prefix BAD
// BAD: error[bad-option]: to-mixed-precision has no dtype 'f8'
// HALF: remark: stays f32: f16 cannot represent a constant that it reads
// NEVER-LABEL: @lists
// NEVER-NEXT: graph.matmul %x, %a

// An input is cast once for two products; relu follows, softmax gets f32, and so does the caller.
// CHECK-LABEL: @lists
// CHECK-NEXT: %[[X:.*]] = graph.cast %x to bf16
// CHECK-NEXT: %[[A:.*]] = graph.cast %a to bf16
// CHECK-NEXT: %[[P:.*]] = graph.matmul %[[X]], %[[A]] : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
// CHECK-NEXT: %[[B:.*]] = graph.cast %b to bf16
// CHECK-NEXT: %[[Q:.*]] = graph.matmul %[[X]], %[[B]]
// CHECK-NEXT: %[[R:.*]] = graph.relu %[[P]]
// CHECK-NEXT: %[[T:.*]] = graph.add %[[R]], %[[Q]] : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
// CHECK-NEXT: %[[W:.*]] = graph.cast %[[T]] to f32
// CHECK-NEXT: %[[S:.*]] = graph.softmax %[[W]]
// CHECK-NEXT: %[[U:.*]] = graph.add %[[W]], %x
// CHECK-NEXT: func.return %[[S]], %[[U]]
func.func @lists(%x: tensor<4x4xf32>, %a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %p = graph.matmul %x, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = graph.matmul %x, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = graph.relu %p : tensor<4x4xf32> -> tensor<4x4xf32>
  %t = graph.add %r, %q : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = graph.softmax %t axis 1 : tensor<4x4xf32> -> tensor<4x4xf32>
  %u = graph.add %t, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %s, %u : tensor<4x4xf32>, tensor<4x4xf32>
}

// What is narrow already needs no cast back and forth; rows are normalized in f32 inside of the op.
// CHECK-LABEL: @narrow_already
// CHECK: %[[A:.*]] = graph.cast %a to bf16
// CHECK-NEXT: %[[P:.*]] = graph.matmul %x, %[[A]]
// CHECK-NEXT: %[[N:.*]] = graph.layer_norm %[[P]] scale %s : tensor<4xf32> axis 1 eps {{.*}} compute_type f32 : tensor<4x4xbf16> -> tensor<4x4xbf16>
// CHECK-NEXT: %[[Y:.*]] = graph.cast %[[N]] to f32
// CHECK-NEXT: func.return %[[Y]]
func.func @narrow_already(%x: tensor<4x4xbf16>, %a: tensor<4x4xf32>, %s: tensor<4xf32>) -> tensor<4x4xf32> {
  %c = graph.cast %x to f32 saturate true round "nearest" : tensor<4x4xbf16> -> tensor<4x4xf32>
  %p = graph.matmul %c, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %n = graph.layer_norm %p scale %s : tensor<4xf32> axis 1 eps 1.0e-5 compute_type f32 : tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %n : tensor<4x4xf32>
}

// f16 has no 1e-12: the sum stays f32, and the quotient with it.
// HALF-LABEL: @tiny_constant
// HALF: graph.add {{.*}} -> tensor<4x4xf32>
// HALF: graph.divide {{.*}} -> tensor<4x4xf32>
func.func @tiny_constant(%x: tensor<4x4xf32>, %a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = graph.constant dense<1.0e-12> : tensor<f32>
  %p = graph.matmul %x, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = graph.relu %p : tensor<4x4xf32> -> tensor<4x4xf32>
  %s = graph.add %q, %e : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %y = graph.divide %p, %s : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// Nor has it 1e6, which would be infinite.
// HALF-LABEL: @huge_constant
// HALF: graph.add {{.*}} -> tensor<4x4xf32>
func.func @huge_constant(%x: tensor<4x4xf32>, %a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = graph.constant dense<1.0e6> : tensor<f32>
  %p = graph.matmul %x, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = graph.add %p, %e : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  func.return %s : tensor<4x4xf32>
}

// Integers have no business here.
// CHECK-LABEL: @integers
// CHECK-NOT: bf16
func.func @integers(%x: tensor<4x4xi32>, %a: tensor<4x4xi32>) -> tensor<4x4xi32> {
  %p = graph.matmul %x, %a : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
  func.return %p : tensor<4x4xi32>
}
