// RUN: stepwell-opt %s -p fuse-into-writes --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p fuse-into-writes,fuse-into-writes --split-input-file | filecheck %s

// Bias by column, then a residual and relu: both on each vector before it is written; the first row is
// written again, from its own values.
// CHECK-LABEL: @epilogue
// CHECK-SAME: %[[X:[a-z]+]]: tensor<8x16xf32>, %[[B:[a-z]+]]: tensor<16xf32>, %[[R:[a-z]+]]: tensor<8x16xf32>
// CHECK: %[[Y:.*]] = scf.for %[[I:[a-z]+]] = {{.*}} iter_args(%[[O:.*]] = %{{.*}}) -> (tensor<8x16xf32>)
// CHECK: %[[V:.*]] = vector.transfer_read %[[X]][%[[I]], %c0]
// CHECK: %[[BV:.*]] = vector.transfer_read %[[B]][%c0]
// CHECK: %[[SUM:.*]] = arith.addf %[[V]], %[[BV]] : vector<16xf32>
// CHECK: %[[RV:.*]] = vector.transfer_read %[[R]][%[[I]], %c0]
// CHECK: %[[MORE:.*]] = arith.addf %[[SUM]], %[[RV]] : vector<16xf32>
// CHECK: %[[MAX:.*]] = arith.maximumf %[[MORE]], %{{.*}} : vector<16xf32>
// CHECK: %[[W:.*]] = vector.transfer_write %[[MAX]], %[[O]][%[[I]], %c0]
// The bias is at hand, the residual of another row is not.
// CHECK-NOT: vector.transfer_read %[[B]]
// CHECK: vector.transfer_read %[[R]][%c0, %c0]
// CHECK: %[[W2:.*]] = vector.transfer_write %{{.*}}, %[[W]][%c0, %c0]
// CHECK: scf.yield %[[W2]]
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @epilogue(%x: tensor<8x16xf32>, %b: tensor<16xf32>, %r: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %pad = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x16xf32>
  %1 = scf.for %i = %c0 to %c8 step %c1 iter_args(%o = %0) -> (tensor<8x16xf32>) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true]} : tensor<8x16xf32>, vector<16xf32>
    %u = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true]} : tensor<8x16xf32>, vector<16xf32>
    %w = vector.transfer_write %v, %o[%i, %c0] {in_bounds = [true]} : vector<16xf32>, tensor<8x16xf32>
    %w2 = vector.transfer_write %u, %w[%c0, %c0] {in_bounds = [true]} : vector<16xf32>, tensor<8x16xf32>
    scf.yield %w2 : tensor<8x16xf32>
  }
  %2 = tensor.empty() : tensor<8x16xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%1, %b : tensor<8x16xf32>, tensor<16xf32>) outs(%2 : tensor<8x16xf32>) {
  ^bb0(%a: f32, %c: f32, %old: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  %4 = tensor.empty() : tensor<8x16xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%r, %3 : tensor<8x16xf32>, tensor<8x16xf32>) outs(%4 : tensor<8x16xf32>) {
  ^bb0(%a: f32, %c: f32, %old: f32):
    %s = arith.addf %c, %a : f32
    %m = arith.maximumf %s, %pad : f32
    linalg.yield %m : f32
  } -> tensor<8x16xf32>
  func.return %5 : tensor<8x16xf32>
}

// -----

// Numbers of another type, a scale a row, loops in loops: they carry the new type.
// CHECK-LABEL: @rounded
// CHECK-SAME: %[[X:[a-z]+]]: tensor<4x2x16xf32>, %[[S:[a-z]+]]: tensor<4xf32>
// CHECK: scf.for %[[I:[a-z]+]] = {{.*}} -> (tensor<4x2x16xi8>)
// CHECK: scf.for %{{.*}} -> (tensor<4x2x16xi8>)
// CHECK: %[[S1:.*]] = tensor.extract %[[S]][%[[I]]]
// CHECK: %[[SV:.*]] = vector.broadcast %[[S1]] : f32 to vector<16xf32>
// CHECK: %[[M:.*]] = arith.mulf %{{.*}}, %[[SV]] : vector<16xf32>
// CHECK: %[[Q:.*]] = arith.fptosi %[[M]] : vector<16xf32> to vector<16xi8>
// CHECK: vector.transfer_write %[[Q]], {{.*}} vector<16xi8>, tensor<4x2x16xi8>
// CHECK-NOT: linalg.generic
func.func @rounded(%x: tensor<4x2x16xf32>, %scale: tensor<4xf32>) -> tensor<4x2x16xi8> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %pad = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<4x2x16xf32>
  %1 = scf.for %i = %c0 to %c4 step %c1 iter_args(%o = %0) -> (tensor<4x2x16xf32>) {
    %y = scf.for %j = %c0 to %c2 step %c1 iter_args(%p = %o) -> (tensor<4x2x16xf32>) {
      %v = vector.transfer_read %x[%i, %j, %c0], %pad {in_bounds = [true]} : tensor<4x2x16xf32>, vector<16xf32>
      %w = vector.transfer_write %v, %p[%i, %j, %c0] {in_bounds = [true]} : vector<16xf32>, tensor<4x2x16xf32>
      scf.yield %w : tensor<4x2x16xf32>
    }
    scf.yield %y : tensor<4x2x16xf32>
  }
  %2 = tensor.empty() : tensor<4x2x16xi8>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1, %scale : tensor<4x2x16xf32>, tensor<4xf32>) outs(%2 : tensor<4x2x16xi8>) {
  ^bb0(%a: f32, %s: f32, %old: i8):
    %m = arith.mulf %a, %s : f32
    %q = arith.fptosi %m : f32 to i8
    linalg.yield %q : i8
  } -> tensor<4x2x16xi8>
  func.return %3 : tensor<4x2x16xi8>
}

// -----

// Loops that read what they write, and a transposed reader, stay.
// CHECK-LABEL: @stays
// CHECK: scf.for
// CHECK: linalg.generic
// CHECK: scf.for
// CHECK: linalg.generic
func.func @stays(%x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %pad = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x16xf32>
  %1 = scf.for %i = %c0 to %c16 step %c1 iter_args(%o = %0) -> (tensor<16x16xf32>) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true]} : tensor<16x16xf32>, vector<16xf32>
    %w = vector.transfer_write %v, %o[%i, %c0] {in_bounds = [true]} : vector<16xf32>, tensor<16x16xf32>
    %u = vector.transfer_read %w[%i, %c0], %pad {in_bounds = [true]} : tensor<16x16xf32>, vector<16xf32>
    %d = arith.addf %u, %u : vector<16xf32>
    %w2 = vector.transfer_write %d, %w[%i, %c0] {in_bounds = [true]} : vector<16xf32>, tensor<16x16xf32>
    scf.yield %w2 : tensor<16x16xf32>
  }
  %e = tensor.empty() : tensor<16x16xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %old: f32):
    %m = arith.negf %a : f32
    linalg.yield %m : f32
  } -> tensor<16x16xf32>
  %3 = scf.for %i = %c0 to %c16 step %c1 iter_args(%o = %0) -> (tensor<16x16xf32>) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true]} : tensor<16x16xf32>, vector<16xf32>
    %w = vector.transfer_write %v, %o[%i, %c0] {in_bounds = [true]} : vector<16xf32>, tensor<16x16xf32>
    scf.yield %w : tensor<16x16xf32>
  }
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%3 : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %old: f32):
    linalg.yield %a : f32
  } -> tensor<16x16xf32>
  func.return %2, %4 : tensor<16x16xf32>, tensor<16x16xf32>
}

// -----

// An operand from outside of the block of the loops stays there, where others use it.
// CHECK-LABEL: @inside_of_another_loop
// CHECK: %[[H:.*]] = tensor.splat
// CHECK-NEXT: scf.for
// CHECK: vector.transfer_read %[[H]]
// CHECK: return %{{.*}}, %[[H]]
func.func @inside_of_another_loop(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %half = arith.constant 0.5 : f32
  %h = tensor.splat %half : tensor<8x16xf32>
  %y = scf.for %n = %c0 to %c8 step %c1 iter_args(%z = %x) -> (tensor<8x16xf32>) {
    %0 = tensor.empty() : tensor<8x16xf32>
    %1 = scf.for %i = %c0 to %c8 step %c1 iter_args(%o = %0) -> (tensor<8x16xf32>) {
      %v = vector.transfer_read %z[%i, %c0], %half {in_bounds = [true]} : tensor<8x16xf32>, vector<16xf32>
      %w = vector.transfer_write %v, %o[%i, %c0] {in_bounds = [true]} : vector<16xf32>, tensor<8x16xf32>
      scf.yield %w : tensor<8x16xf32>
    }
    %2 = tensor.empty() : tensor<8x16xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%1, %h : tensor<8x16xf32>, tensor<8x16xf32>) outs(%2 : tensor<8x16xf32>) {
    ^bb0(%a: f32, %b: f32, %old: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<8x16xf32>
    scf.yield %3 : tensor<8x16xf32>
  }
  func.return %y, %h : tensor<8x16xf32>, tensor<8x16xf32>
}
