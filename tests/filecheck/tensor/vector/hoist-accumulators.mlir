// RUN: stepwell-opt %s -p hoist-accumulators --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p hoist-accumulators,hoist-accumulators --split-input-file | filecheck %s

// Two loops around a sum carry the vector; it starts as what the tile was filled with.
// CHECK-LABEL: @nested
// CHECK: %[[V:.*]] = scf.for %{{.*}} iter_args(%[[V1:.*]] = %z) -> (vector<4x16xf32>)
// CHECK-NEXT: %[[W:.*]] = scf.for %{{.*}} iter_args(%[[V2:.*]] = %[[V1]]) -> (vector<4x16xf32>)
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[V2]], %v
// CHECK-NEXT: scf.yield %[[S]]
// CHECK: scf.yield %[[W]]
// CHECK: vector.transfer_write %[[V]], %t[%c0, %c0]
// CHECK-NOT: vector.transfer_read
func.func private @nested(%t: tensor<4x16xf32>, %z: vector<4x16xf32>, %v: vector<4x16xf32>) -> tensor<4x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %pad = arith.constant 0.0 : f32
  %f = vector.transfer_write %z, %t[%c0, %c0] {in_bounds = [true, true]} : vector<4x16xf32>, tensor<4x16xf32>
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%o = %f) -> (tensor<4x16xf32>) {
    %q = scf.for %j = %c0 to %c8 step %c1 iter_args(%p = %o) -> (tensor<4x16xf32>) {
      %a = vector.transfer_read %p[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<4x16xf32>, vector<4x16xf32>
      %s = arith.addf %a, %v : vector<4x16xf32>
      %w = vector.transfer_write %s, %p[%c0, %c0] {in_bounds = [true, true]} : vector<4x16xf32>, tensor<4x16xf32>
      scf.yield %w : tensor<4x16xf32>
    }
    scf.yield %q : tensor<4x16xf32>
  }
  func.return %r : tensor<4x16xf32>
}

// -----

// A loop that writes a part of its tile keeps the tile.
// CHECK-LABEL: @part
// CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %t) -> (tensor<8xf32>)
// CHECK: vector.transfer_write
// CHECK-NEXT: scf.yield
func.func private @part(%t: tensor<8xf32>, %v: vector<4xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %i = %c0 to %c8 step %c4 iter_args(%o = %t) -> (tensor<8xf32>) {
    %w = vector.transfer_write %v, %o[%i] {in_bounds = [true]} : vector<4xf32>, tensor<8xf32>
    scf.yield %w : tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}

// -----

// So does one whose body reads the tile in another arrangement, or in parts.
// CHECK-LABEL: @read_in_parts
// CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %t) -> (tensor<8xf32>)
func.func private @read_in_parts(%t: tensor<8xf32>, %v: vector<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%o = %t) -> (tensor<8xf32>) {
    %x = tensor.extract %o[%i] : tensor<8xf32>
    %b = vector.broadcast %x : f32 to vector<8xf32>
    %s = arith.addf %b, %v : vector<8xf32>
    %w = vector.transfer_write %s, %o[%c0] {in_bounds = [true]} : vector<8xf32>, tensor<8xf32>
    scf.yield %w : tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}
