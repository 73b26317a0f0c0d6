// RUN: stepwell-opt %s -p generalize-named-ops | filecheck %s

// CHECK-LABEL: @named
// CHECK: linalg.generic
// CHECK-SAME: affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK-NOT: linalg.add
// CHECK-NOT: linalg.transpose
func.func @named(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>, %o: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %t = linalg.transpose ins(%x : tensor<2x3xf32>) outs(%o : tensor<3x2xf32>) permutation = [1, 0]
  %z = linalg.add ins(%t, %y : tensor<3x2xf32>, tensor<3x2xf32>) outs(%o : tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %z : tensor<3x2xf32>
}
// Windows have strides and dilations, reductions lose dimensions, a contraction has maps of its own.
// CHECK-LABEL: @structured
// CHECK: linalg.generic
// CHECK-SAME: affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, ((d1 * 2) + d4), (d2 + (d5 * 3)), d6)>
// CHECK-SAME: affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>
// CHECK-SAME: "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"
// CHECK: linalg.generic
// CHECK-SAME: affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
// CHECK: linalg.generic
// CHECK-SAME: affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>
// CHECK-SAME: iterator_types = ["reduction", "parallel"]
// CHECK: linalg.generic
// CHECK-SAME: affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>
func.func @structured(%x: tensor<1x5x6x2xf32>, %w: tensor<2x2x2x4xf32>, %o: tensor<1x2x3x4xf32>,
                      %a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>, %c: tensor<2x3x5xf32>,
                      %m: tensor<3x5xf32>, %s: tensor<5xf32>) {
  %y = "linalg.conv_2d_nhwc_hwcf"(%x, %w, %o) <{strides = dense<[2, 1]> : tensor<2xi64>, dilations = dense<[1, 3]> : tensor<2xi64>, operandSegmentSizes = array<i32: 2, 1>}> ({
  ^bb0(%p: f32, %q: f32, %r: f32):
    %t = arith.mulf %p, %q : f32
    %u = arith.addf %r, %t : f32
    linalg.yield %u : f32
  }) : (tensor<1x5x6x2xf32>, tensor<2x2x2x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %z = "linalg.batch_matmul"(%a, %b, %c) <{operandSegmentSizes = array<i32: 2, 1>}> ({
  ^bb0(%p: f32, %q: f32, %r: f32):
    %t = arith.mulf %p, %q : f32
    %u = arith.addf %r, %t : f32
    linalg.yield %u : f32
  }) : (tensor<2x3x4xf32>, tensor<2x4x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %v = "linalg.reduce"(%m, %s) <{dimensions = array<i64: 0>}> ({
  ^bb0(%p: f32, %r: f32):
    %u = arith.addf %p, %r : f32
    linalg.yield %u : f32
  }) : (tensor<3x5xf32>, tensor<5xf32>) -> tensor<5xf32>
  %n = "linalg.broadcast"(%m, %c) <{dimensions = array<i64: 0>}> ({
  ^bb0(%p: f32, %r: f32):
    linalg.yield %p : f32
  }) : (tensor<3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  func.return
}
// CHECK-LABEL: @elementwise
// CHECK: linalg.generic
// CHECK-SAME: affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>
// CHECK: arith.divf
// CHECK-NOT: linalg.div
func.func @elementwise(%x: tensor<4xf32>, %y: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> {
  %z = "linalg.div"(%x, %y, %o) <{operandSegmentSizes = array<i32: 2, 1>}> ({
  ^bb0(%p: f32, %q: f32, %r: f32):
    %t = arith.divf %p, %q : f32
    linalg.yield %t : f32
  }) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}
