// RUN: stepwell-opt %s -p hoist-accumulators | filecheck %s

// A tile that is read and written transposed: the carried vector is as it was read, and is written back so.
// CHECK-LABEL: @transposed(
// CHECK: %[[V0:.*]] = vector.transfer_read %t[%c0, %c0], %{{.*}} {{.*}}permutation_map = affine_map<(d0, d1) -> (d1, d0)>{{.*}} : tensor<4x8xf32>, vector<8x4xf32>
// CHECK: %[[V:.*]] = scf.for %{{.*}} iter_args(%[[A:.*]] = %[[V0]]) -> (vector<8x4xf32>)
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[A]], %v
// CHECK-NEXT: scf.yield %[[S]]
// CHECK: vector.transfer_write %[[V]], %t[%c0, %c0] {{.*}}permutation_map = affine_map<(d0, d1) -> (d1, d0)>
func.func private @transposed(%t: tensor<4x8xf32>, %v: vector<8x4xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %pad = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%o = %t) -> (tensor<4x8xf32>) {
    %a = vector.transfer_read %o[%c0, %c0], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : tensor<4x8xf32>, vector<8x4xf32>
    %s = arith.addf %a, %v : vector<8x4xf32>
    %w = vector.transfer_write %s, %o[%c0, %c0] {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : vector<8x4xf32>, tensor<4x8xf32>
    scf.yield %w : tensor<4x8xf32>
  }
  func.return %r : tensor<4x8xf32>
}

// A square tile that is read one way and written the other way is transposed by each iteration: it stays a tile.
// CHECK-LABEL: @transposed_each_time
// CHECK: scf.for %{{.*}} iter_args(%[[O:.*]] = %{{.*}}) -> (tensor<4x4xf32>)
// CHECK: vector.transfer_read %[[O]]
func.func private @transposed_each_time(%t: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %pad = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%o = %t) -> (tensor<4x4xf32>) {
    %a = vector.transfer_read %o[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<4x4xf32>, vector<4x4xf32>
    %w = vector.transfer_write %a, %o[%c0, %c0] {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : vector<4x4xf32>, tensor<4x4xf32>
    scf.yield %w : tensor<4x4xf32>
  }
  func.return %r : tensor<4x4xf32>
}
