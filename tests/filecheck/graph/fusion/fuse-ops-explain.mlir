// RUN: stepwell-opt %s -p 'fuse-ops{explain}' --remarks 2>&1 | filecheck %s
// RUN: stepwell-opt %s -p 'fuse-ops{explain max-ops=1}' --remarks 2>&1 | filecheck %s --check-prefix FEW

// CHECK: remark: not fused with graph.matmul ({{.*}}): an elementwise op joins no contraction that reads it; graph.matmul ({{.*}}) has the fusion kind contraction
// CHECK: remark: not fused with graph.relu ({{.*}}): no op of this block uses all that is computed from it
// CHECK: remark: not fused with graph.exp ({{.*}}): no op of this block uses all that is computed from it
// FEW: remark: not fused with graph.matmul ({{.*}}): the kernel would have 2 ops, more than max-ops=1
func.func @uses_that_do_not_meet(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %n = graph.neg %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %h = graph.matmul %n, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %a = graph.relu %h : tensor<4x8xf32> -> tensor<4x8xf32>
  %b = graph.exp %h : tensor<4x8xf32> -> tensor<4x8xf32>
  func.return %a, %b : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK: remark: not fused with graph.softmax ({{.*}}): a contraction is joined only by elementwise and broadcast ops on its whole result; graph.softmax ({{.*}}) has the fusion kind row
// CHECK: remark: not fused with graph.softmax ({{.*}}): reductions of one kernel are over the same rows, and one over others comes last
func.func @rows(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %h = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %r = graph.softmax %h axis 1 : tensor<4x8xf32> -> tensor<4x8xf32>
  %c = graph.softmax %r axis 0 : tensor<4x8xf32> -> tensor<4x8xf32>
  func.return %c : tensor<4x8xf32>
}

// CHECK: remark: not fused with graph.add ({{.*}}): a contraction is joined only by elementwise and broadcast ops on its whole result; graph.add ({{.*}}) has the fusion kind broadcast, and reads it as broadcast
func.func @broadcast_result(%x: tensor<4x1xf32>, %w: tensor<1x1xf32>, %z: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %h = graph.matmul %x, %w : (tensor<4x1xf32>, tensor<1x1xf32>) -> tensor<4x1xf32>
  %a = graph.add %h, %z : (tensor<4x1xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %a : tensor<4x8xf32>
}

// CHECK: remark: not fused with graph.exp ({{.*}}): graph.relu has the attribute graph.stop_fusion
func.func @stopped(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.relu %x {graph.stop_fusion} : tensor<4xf32> -> tensor<4xf32>
  %b = graph.exp %a : tensor<4xf32> -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}

// CHECK: remark: not fused with graph.transpose ({{.*}}): a contraction is joined only by elementwise and broadcast ops on its whole result; graph.transpose ({{.*}}) has the fusion kind injective
func.func @movement(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x4xf32> {
  %h = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %t = graph.transpose %h perm [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  func.return %t : tensor<8x4xf32>
}
// CHECK: remark: not fused with graph.gather ({{.*}}): indices that must be checked are computed before the kernel that reads at them
func.func @indices(%x: tensor<5x3xf32>, %f: tensor<2xf32>) -> tensor<2x3xf32> {
  %i = graph.cast %f to i64 saturate true round "nearest" : tensor<2xf32> -> tensor<2xi64>
  %y = graph.gather %x, %i axis 0 batch_dims 0 bounds "check" : (tensor<5x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// CHECK-NOT: remark: not fused
func.func @fused(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %h = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %a = graph.relu %h : tensor<4x8xf32> -> tensor<4x8xf32>
  func.return %a : tensor<4x8xf32>
}
