// RUN: stepwell-opt %s -p fuse-ops | filecheck %s
// RUN: stepwell-opt %s -p fuse-ops,fuse-ops | filecheck %s
// RUN: stepwell-opt %s -p 'fuse-ops{max-ops=2}' | filecheck %s --check-prefix=TWO
// RUN: stepwell-opt %s -p fuse-ops --print-debuginfo | filecheck %s --check-prefix=LOC

// A residual block: the addition and the relu end in the convolution's kernel, weights stay operands.
// CHECK-LABEL: @residual
// CHECK: %[[W:.*]] = graph.constant #graph.weight
// CHECK-NEXT: %[[Y:.*]] = graph.fused (%{{.*}} = %x : tensor<1x8x6x6xf32>, %{{.*}} = %[[W]] : {{.*}}, %{{.*}} = %b
// CHECK-NEXT: %[[C:.*]] = graph.conv
// CHECK-NEXT: %[[B:.*]] = graph.bias_add %[[C]]
// CHECK-NEXT: %[[S:.*]] = graph.add %[[B]]
// CHECK-NEXT: %[[R:.*]] = graph.relu %[[S]]
// CHECK-NEXT: graph.yield %[[R]]
// CHECK-NEXT: }
// CHECK-NEXT: func.return %[[Y]]
// TWO-LABEL: @residual
// TWO: graph.fused
// TWO-NEXT: graph.conv
// TWO-NEXT: graph.bias_add
// TWO-NEXT: graph.yield
// TWO: graph.fused
// TWO-NEXT: graph.add
// TWO-NEXT: graph.relu
// TWO-NEXT: graph.yield
func.func @residual(%x: tensor<1x8x6x6xf32>, %b: tensor<8xf32>) -> tensor<1x8x6x6xf32> {
  %w = graph.constant #graph.weight<"w", "00", tensor<8x8x3x3xf32>> : tensor<8x8x3x3xf32>
  %c = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  %d = graph.bias_add %c, %b axis 1 : (tensor<1x8x6x6xf32>, tensor<8xf32>) -> tensor<1x8x6x6xf32>
  %e = graph.add %d, %x : (tensor<1x8x6x6xf32>, tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  %f = graph.relu %e : tensor<1x8x6x6xf32> -> tensor<1x8x6x6xf32>
  func.return %f : tensor<1x8x6x6xf32>
}

// A diamond is one kernel; its constant of one element goes inside, a larger one becomes an operand.
// CHECK-LABEL: @diamond
// CHECK: %[[V:.*]] = graph.constant dense<[1.{{.*}}, 2.{{.*}}]>
// CHECK-NEXT: %{{.*}} = graph.fused (%{{.*}} = %x : tensor<3x2xf32>, %{{.*}} = %[[V]] : tensor<2xf32>)
// CHECK-NEXT: graph.constant dense<5.0
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.multiply
// CHECK-NEXT: graph.neg
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.multiply
// CHECK-NEXT: graph.yield
// CHECK-NEXT: }
// CHECK-NEXT: func.return
func.func @diamond(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %half = graph.constant dense<5.0> : tensor<f32>
  %v = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %a = graph.exp %x : tensor<3x2xf32> -> tensor<3x2xf32>
  %b = graph.multiply %a, %half : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32>
  %c = graph.neg %a : tensor<3x2xf32> -> tensor<3x2xf32>
  %d = graph.add %b, %c : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %e = graph.multiply %d, %v : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  func.return %e : tensor<3x2xf32>
}

// A value that something else reads ends its kernel; views and structure stay outside.
// CHECK-LABEL: @escapes
// CHECK-COUNT-1: graph.fused
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.yield
// CHECK: graph.fused
// CHECK-NEXT: graph.neg
// CHECK-NEXT: graph.yield
// CHECK-NEXT: }
// CHECK-NEXT: graph.reshape
// CHECK-NEXT: func.return
func.func @escapes(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<6xf32>) {
  %a = graph.exp %x : tensor<3x2xf32> -> tensor<3x2xf32>
  %b = graph.neg %a : tensor<3x2xf32> -> tensor<3x2xf32>
  %c = graph.reshape %b shape <[6]> : tensor<3x2xf32> -> tensor<6xf32>
  func.return %a, %c : tensor<3x2xf32>, tensor<6xf32>
}

// Two contractions never share a kernel: the first one takes what follows both.
// CHECK-LABEL: @two_contractions
// CHECK: graph.fused
// CHECK-NEXT: graph.matmul %y{{.*}}, %x
// CHECK-NEXT: graph.yield
// CHECK: graph.fused
// CHECK-NEXT: graph.matmul %x{{.*}}, %y
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.yield
func.func @two_contractions(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = graph.matmul %x, %y : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = graph.matmul %y, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = graph.add %a, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %c : tensor<4x4xf32>
}

// A broadcast would compute the small side again for each element: two kernels.
// CHECK-LABEL: @broadcast
// CHECK: graph.fused
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.yield
// CHECK: graph.fused
// CHECK-NEXT: graph.multiply
func.func @broadcast(%x: tensor<2xf32>, %y: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %a = graph.exp %x : tensor<2xf32> -> tensor<2xf32>
  %b = graph.multiply %y, %a : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  func.return %b : tensor<3x2xf32>
}

// Equal names are equal sizes, different names are not.
// CHECK-LABEL: @symbols
// CHECK: graph.fused
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.neg
// CHECK-NEXT: graph.yield
func.func @symbols(%x: tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?xf32, #graph.dims<["N"]>> {
  %a = graph.exp %x : tensor<?xf32, #graph.dims<["N"]>> -> tensor<?xf32, #graph.dims<["N"]>>
  %b = graph.neg %a : tensor<?xf32, #graph.dims<["N"]>> -> tensor<?xf32, #graph.dims<["N"]>>
  func.return %b : tensor<?xf32, #graph.dims<["N"]>>
}

// The attribute keeps an op apart from its consumers.
// CHECK-LABEL: @stop
// CHECK: graph.fused
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.yield
// CHECK: graph.fused
// CHECK-NEXT: graph.neg
// CHECK-NEXT: graph.yield
func.func @stop(%x: tensor<3xf32>) -> tensor<3xf32> {
  %a = graph.exp %x {graph.stop_fusion} : tensor<3xf32> -> tensor<3xf32>
  %b = graph.neg %a : tensor<3xf32> -> tensor<3xf32>
  func.return %b : tensor<3xf32>
}

// Every location of a kernel's ops is kept.
// LOC-LABEL: @locations
// LOC: loc(fused["a", "b"])
func.func @locations(%x: tensor<3xf32>) -> tensor<3xf32> {
  %a = graph.exp %x : tensor<3xf32> -> tensor<3xf32> loc("a")
  %b = graph.neg %a : tensor<3xf32> -> tensor<3xf32> loc("b")
  func.return %b : tensor<3xf32>
}

// Movement joins what reads through it, but no contraction, and not past another reader.
// CHECK-LABEL: @movement
// CHECK: graph.fused
// CHECK-NEXT: graph.slice
// CHECK-NEXT: graph.transpose
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.yield
// CHECK: graph.fused
// CHECK-NEXT: graph.transpose
// CHECK-NEXT: graph.yield
// CHECK: graph.fused
// CHECK-NEXT: graph.matmul
// CHECK-NEXT: graph.yield
func.func @movement(%x: tensor<4x6xf32>, %y: tensor<4x2xf32>) -> tensor<2x2xf32> {
  %a = graph.slice %x starts <[0, 2]> limits <[4, 4]> steps [1, 1] : tensor<4x6xf32> -> tensor<4x2xf32>
  %b = graph.transpose %a perm [1, 0] : tensor<4x2xf32> -> tensor<2x4xf32>
  %c = graph.exp %b : tensor<2x4xf32> -> tensor<2x4xf32>
  %d = graph.transpose %c perm [1, 0] : tensor<2x4xf32> -> tensor<4x2xf32>
  %e = graph.matmul %c, %d : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  func.return %e : tensor<2x2xf32>
}
