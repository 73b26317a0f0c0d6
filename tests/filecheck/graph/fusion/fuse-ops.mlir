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

// A value on the way that something else reads is one more output: no pass over the data is added. Views and
// structure stay outside.
// CHECK-LABEL: @escapes
// CHECK: %[[A:.*]], %[[B:.*]] = graph.fused
// CHECK-NEXT: %[[E:.*]] = graph.exp
// CHECK-NEXT: %[[N:.*]] = graph.neg
// CHECK-NEXT: graph.yield %[[E]], %[[N]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[C:.*]] = graph.reshape %[[B]]
// CHECK-NEXT: func.return %[[A]], %[[C]]
func.func @escapes(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<6xf32>) {
  %a = graph.exp %x : tensor<3x2xf32> -> tensor<3x2xf32>
  %b = graph.neg %a : tensor<3x2xf32> -> tensor<3x2xf32>
  %c = graph.reshape %b shape <[6]> : tensor<3x2xf32> -> tensor<6xf32>
  func.return %a, %c : tensor<3x2xf32>, tensor<6xf32>
}

// A kernel of two outputs stands where its last op did; what reads the first one moves behind it.
// CHECK-LABEL: @moves_readers
// CHECK: %[[A:.*]], %[[B:.*]] = graph.fused
// CHECK: graph.reshape %[[A]]
// CHECK: func.return
func.func @moves_readers(%x: tensor<3x2xf32>) -> (tensor<6xf32>, tensor<3x2xf32>) {
  %a = graph.exp %x : tensor<3x2xf32> -> tensor<3x2xf32>
  %c = graph.reshape %a shape <[6]> : tensor<3x2xf32> -> tensor<6xf32>
  %b = graph.neg %a : tensor<3x2xf32> -> tensor<3x2xf32>
  func.return %c, %b : tensor<6xf32>, tensor<3x2xf32>
}

// No second output where a way around the kernel leads back into it: it would wait for itself.
// CHECK-LABEL: @detour
// CHECK: graph.fused
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.yield
// CHECK: graph.fused
// CHECK-NEXT: graph.scan
// CHECK-NEXT: graph.yield
// CHECK: graph.fused
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.yield
func.func @detour(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %a = graph.exp %x : tensor<2x2xf32> -> tensor<2x2xf32>
  %b = graph.scan %a kind "sum" axis 0 exclusive false reverse false : tensor<2x2xf32> -> tensor<2x2xf32>
  %c = graph.add %a, %b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %c : tensor<2x2xf32>
}

// No second output where a contraction in the kernel needs it whole.
// CHECK-LABEL: @inner_reader
// CHECK: graph.fused
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.yield
// CHECK: graph.fused
// CHECK-NEXT: graph.matmul
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.yield
func.func @inner_reader(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %a = graph.exp %x : tensor<2x2xf32> -> tensor<2x2xf32>
  %b = graph.matmul %a, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %c = graph.add %a, %b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %c : tensor<2x2xf32>
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

// Elementwise ops join what broadcasts them, moves them or reduces them; a reduction over outer axes ends its
// kernel.
// CHECK-LABEL: @producers
// CHECK: graph.fused {{.*}} attributes {kind = "elementwise"}
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.multiply
// CHECK-NEXT: graph.reduce
// CHECK-NEXT: graph.yield
// CHECK: graph.fused {{.*}} attributes {kind = "elementwise"}
// CHECK-NEXT: graph.neg
// CHECK-NEXT: graph.concat
// CHECK-NEXT: graph.yield
func.func @producers(%x: tensor<2xf32>, %y: tensor<3x2xf32>) -> tensor<4xf32> {
  %a = graph.exp %x : tensor<2xf32> -> tensor<2xf32>
  %b = graph.multiply %y, %a : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %c = graph.reduce %b kind "sum" axes [0] keep_dims false : tensor<3x2xf32> -> tensor<2xf32>
  %d = graph.neg %c : tensor<2xf32> -> tensor<2xf32>
  %e = graph.concat %d, %x axis 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  func.return %e : tensor<4xf32>
}

// Reductions over the same innermost axes, what is between them, and what goes before and after on these rows.
// CHECK-LABEL: @rows
// CHECK: %{{.*}} = graph.fused {{.*}} attributes {kind = "rows"}
// CHECK-NEXT: graph.constant
// CHECK-NEXT: graph.neg
// CHECK-NEXT: graph.reduce
// CHECK-NEXT: graph.subtract
// CHECK-NEXT: graph.reduce
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.sqrt
// CHECK-NEXT: graph.divide
// CHECK-NEXT: graph.yield
// CHECK-NEXT: }
// CHECK-NEXT: func.return
func.func @rows(%x: tensor<?x8xf32, #graph.dims<["N", 8]>>) -> tensor<?x8xf32, #graph.dims<["N", 8]>> {
  %eps = graph.constant dense<1.0e-5> : tensor<f32>
  %n = graph.neg %x : tensor<?x8xf32, #graph.dims<["N", 8]>> -> tensor<?x8xf32, #graph.dims<["N", 8]>>
  %m = graph.reduce %n kind "mean" axes [1] keep_dims true : tensor<?x8xf32, #graph.dims<["N", 8]>> -> tensor<?x1xf32, #graph.dims<["N", 1]>>
  %c = graph.subtract %n, %m : (tensor<?x8xf32, #graph.dims<["N", 8]>>, tensor<?x1xf32, #graph.dims<["N", 1]>>) -> tensor<?x8xf32, #graph.dims<["N", 8]>>
  %v = graph.reduce %c kind "sum_square" axes [1] keep_dims true : tensor<?x8xf32, #graph.dims<["N", 8]>> -> tensor<?x1xf32, #graph.dims<["N", 1]>>
  %s = graph.add %v, %eps : (tensor<?x1xf32, #graph.dims<["N", 1]>>, tensor<f32>) -> tensor<?x1xf32, #graph.dims<["N", 1]>>
  %r = graph.sqrt %s : tensor<?x1xf32, #graph.dims<["N", 1]>> -> tensor<?x1xf32, #graph.dims<["N", 1]>>
  %y = graph.divide %c, %r : (tensor<?x8xf32, #graph.dims<["N", 8]>>, tensor<?x1xf32, #graph.dims<["N", 1]>>) -> tensor<?x8xf32, #graph.dims<["N", 8]>>
  func.return %y : tensor<?x8xf32, #graph.dims<["N", 8]>>
}

// Reductions over different axes are two kernels.
// CHECK-LABEL: @other_rows
// CHECK-COUNT-2: graph.fused
func.func @other_rows(%x: tensor<4x8xf32>) -> tensor<4x1xf32> {
  %a = graph.reduce %x kind "sum" axes [0] keep_dims true : tensor<4x8xf32> -> tensor<1x8xf32>
  %b = graph.add %x, %a : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  %c = graph.reduce %b kind "sum" axes [1] keep_dims true : tensor<4x8xf32> -> tensor<4x1xf32>
  func.return %c : tensor<4x1xf32>
}

// Ops whose shape depends on data are kernels by themselves.
// CHECK-LABEL: @opaque
// CHECK-COUNT-2: graph.fused {{.*}} attributes {kind = "single"}
func.func @opaque(%x: tensor<?xf32, #graph.dims<["?"]>>) -> tensor<?xf32, #graph.dims<["?"]>> {
  %a = graph.exp %x : tensor<?xf32, #graph.dims<["?"]>> -> tensor<?xf32, #graph.dims<["?"]>>
  %b = graph.neg %a : tensor<?xf32, #graph.dims<["?"]>> -> tensor<?xf32, #graph.dims<["?"]>>
  func.return %b : tensor<?xf32, #graph.dims<["?"]>>
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

// CHECK-LABEL: @stop_rows
// CHECK-COUNT-2: graph.fused {{.*}} attributes {kind = "single"}
func.func @stop_rows(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %a = graph.softmax %x axis 1 {graph.stop_fusion} : tensor<3x8xf32> -> tensor<3x8xf32>
  %b = graph.neg %a : tensor<3x8xf32> -> tensor<3x8xf32>
  func.return %b : tensor<3x8xf32>
}

// Every location of a kernel's ops is kept.
// LOC-LABEL: @locations
// LOC: loc(fused["a", "b"])
func.func @locations(%x: tensor<3xf32>) -> tensor<3xf32> {
  %a = graph.exp %x : tensor<3xf32> -> tensor<3xf32> loc("a")
  %b = graph.neg %a : tensor<3xf32> -> tensor<3xf32> loc("b")
  func.return %b : tensor<3xf32>
}

// Movement joins movement and elementwise ops, but no contraction, and not past another reader.
// CHECK-LABEL: @movement
// CHECK: graph.fused {{.*}} attributes {kind = "injective"}
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

// Trees are summed and transformed in one kernel.
// CHECK-LABEL: @trees
// CHECK: graph.fused
// CHECK-SAME: {kind = "contraction"}
// CHECK-NEXT: graph.tree_ensemble
// CHECK-NEXT: graph.bias_add
// CHECK-NEXT: graph.sigmoid
// CHECK-NEXT: graph.yield
func.func @trees(%x: tensor<8x2xf32>, %n: tensor<3x4xi32>, %t: tensor<1x5xi32>, %w: tensor<2x2xf32>, %b: tensor<2xf32>) -> tensor<8x2xf32> {
  %0 = graph.tree_ensemble %x, %n, %t, %w depth 1 leaves 2 largest 0 aggregate "sum" : (tensor<8x2xf32>, tensor<3x4xi32>, tensor<1x5xi32>, tensor<2x2xf32>) -> tensor<8x2xf32>
  %1 = graph.bias_add %0, %b axis 1 : (tensor<8x2xf32>, tensor<2xf32>) -> tensor<8x2xf32>
  %2 = graph.sigmoid %1 : tensor<8x2xf32> -> tensor<8x2xf32>
  func.return %2 : tensor<8x2xf32>
}

// Indices that must be checked are computed before the kernel that reads at them; what is in bounds may be in it.
// CHECK-LABEL: @indices
// CHECK: graph.fused
// CHECK-NEXT: graph.cast
// CHECK-NEXT: graph.neg
// CHECK-NEXT: graph.yield
// CHECK: graph.fused
// CHECK-NEXT: graph.gather
// CHECK-NEXT: graph.yield
// CHECK: graph.fused
// CHECK-NEXT: graph.cast
// CHECK-NEXT: graph.gather {{.*}}"clip"
// CHECK-NEXT: graph.gather {{.*}}graph.in_bounds
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.yield
func.func @indices(%x: tensor<5x3xf32>, %f: tensor<2xf32>, %g: tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xi64>, tensor<2x3xf32>) {
  %i = graph.cast %f to i64 saturate true round "nearest" : tensor<2xf32> -> tensor<2xi64>
  %n = graph.neg %i : tensor<2xi64> -> tensor<2xi64>
  %y = graph.gather %x, %i axis 0 batch_dims 0 bounds "check" : (tensor<5x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %j = graph.cast %g to i64 saturate true round "nearest" : tensor<2xf32> -> tensor<2xi64>
  %a = graph.gather %x, %j axis 0 batch_dims 0 bounds "clip" : (tensor<5x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %b = graph.gather %x, %j axis 0 batch_dims 0 bounds "check" {graph.in_bounds} : (tensor<5x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %z = graph.add %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y, %n, %z : tensor<2x3xf32>, tensor<2xi64>, tensor<2x3xf32>
}
