// RUN: stepwell-opt %s -p bufferize | filecheck %s

// Tiles: the loop carries no tensor any more, and runs in parallel; each tile lies in the output.
// CHECK-LABEL: @tiles
// CHECK-SAME: %[[OUT:[a-z]+]]: memref<12x8xf32>)
// CHECK: "scf.parallel"
// CHECK: ^{{.*}}(%[[I:.*]]: index):
// CHECK: %[[S:.*]] = memref.subview %[[OUT]][%[[I]], 0] [4, 8] [1, 1] : memref<12x8xf32> to memref<4x8xf32, strided<[8, 1], offset: ?>>
// CHECK: linalg.fill {{.*}} outs(%[[S]] :
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK: linalg.generic {{.*}} outs(%[[S]] :
// CHECK-NOT: memref.copy
func.func private @tiles(%x: tensor<12x32xf32>, %w: tensor<32x8xf32>) -> tensor<12x8xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c32 = arith.constant 32 : index
  %e = tensor.empty() : tensor<12x8xf32>
  %r = scf.for %i = %c0 to %c12 step %c4 iter_args(%acc = %e) -> (tensor<12x8xf32>) {
    %s = tensor.extract_slice %acc[%i, 0] [4, 8] [1, 1] : tensor<12x8xf32> to tensor<4x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%s : tensor<4x8xf32>) -> tensor<4x8xf32>
    %q = scf.for %k = %c0 to %c32 step %c8 iter_args(%old = %f) -> (tensor<4x8xf32>) {
      %xs = tensor.extract_slice %x[%i, %k] [4, 8] [1, 1] : tensor<12x32xf32> to tensor<4x8xf32>
      %ws = tensor.extract_slice %w[%k, 0] [8, 8] [1, 1] : tensor<32x8xf32> to tensor<8x8xf32>
      %m = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%xs, %ws : tensor<4x8xf32>, tensor<8x8xf32>) outs(%old : tensor<4x8xf32>) {
      ^bb0(%a: f32, %b: f32, %c: f32):
        %0 = arith.mulf %a, %b : f32
        %1 = arith.addf %c, %0 : f32
        linalg.yield %1 : f32
      } -> tensor<4x8xf32>
      scf.yield %m : tensor<4x8xf32>
    }
    %n = tensor.insert_slice %q into %acc[%i, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<12x8xf32>
    scf.yield %n : tensor<12x8xf32>
  } {sched.parallel}
  func.return %r : tensor<12x8xf32>
}

// Two parallel loops with nothing between them are one; vectors go straight to the output.
// CHECK-LABEL: @parallel_nest
// CHECK: "scf.parallel"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}>
// CHECK: ^{{.*}}(%[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[V:.*]] = vector.transfer_read %{{.*}}[%[[I]], %[[J]]], {{.*}} : memref<4x32xf32>, vector<16xf32>
// CHECK: vector.transfer_write %[[V]], %{{.*}}[%[[I]], %[[J]]] {in_bounds = [true]} : vector<16xf32>, memref<4x32xf32>
// CHECK-NOT: scf.parallel
func.func private @parallel_nest(%x: tensor<4x32xf32>) -> tensor<4x32xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %e = tensor.empty() : tensor<4x32xf32>
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%rows = %e) -> (tensor<4x32xf32>) {
    %q = scf.for %j = %c0 to %c32 step %c16 iter_args(%parts = %rows) -> (tensor<4x32xf32>) {
      %v = vector.transfer_read %x[%i, %j], %zero {in_bounds = [true]} : tensor<4x32xf32>, vector<16xf32>
      %w = vector.transfer_write %v, %parts[%i, %j] {in_bounds = [true]} : vector<16xf32>, tensor<4x32xf32>
      scf.yield %w : tensor<4x32xf32>
    } {sched.parallel}
    scf.yield %q : tensor<4x32xf32>
  } {sched.parallel}
  func.return %r : tensor<4x32xf32>
}

// A temporary of a parallel loop is inside it: each thread has its own.
// CHECK-LABEL: @private_temporary
// CHECK: "scf.parallel"
// CHECK-NEXT: ^
// CHECK-NEXT: %[[T:.*]] = memref.alloca() {alignment = 64 : i64} : memref<8xf32>
// CHECK: linalg.fill {{.*}} outs(%[[T]] :
func.func private @private_temporary(%x: tensor<8xf32>) -> tensor<4x8xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %e = tensor.empty() : tensor<4x8xf32>
  %t = tensor.empty() : tensor<8xf32>
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %e) -> (tensor<4x8xf32>) {
    %f = linalg.fill ins(%one : f32) outs(%t : tensor<8xf32>) -> tensor<8xf32>
    %s = tensor.extract_slice %acc[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<8xf32>
    %m = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (-i + 7)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x, %f : tensor<8xf32>, tensor<8xf32>) outs(%s : tensor<8xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    } -> tensor<8xf32>
    %n = tensor.insert_slice %m into %acc[%i, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<4x8xf32>
    scf.yield %n : tensor<4x8xf32>
  } {sched.parallel}
  func.return %r : tensor<4x8xf32>
}

// A state that each iteration computes from the last one elementwise stays in one buffer.
// CHECK-LABEL: @state
// CHECK-SAME: (%[[X:.*]]: memref<8xf32>, %[[OUT:.*]]: memref<8xf32>)
// CHECK: "memref.copy"(%[[X]], %[[OUT]])
// CHECK: scf.for
// CHECK-NEXT: linalg.generic {{.*}} ins(%[[OUT]] : memref<8xf32>) outs(%[[OUT]] : memref<8xf32>)
// CHECK-NOT: memref.copy
func.func private @state(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%h = %x) -> (tensor<8xf32>) {
    %e = tensor.empty() : tensor<8xf32>
    %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%h : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.tanh %a : f32
      linalg.yield %0 : f32
    } -> tensor<8xf32>
    scf.yield %s : tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}

// Tensors that change places go by way of a copy; one that only moves on does not.
// CHECK-LABEL: @exchange
// CHECK: scf.for
// CHECK: "memref.copy"(%[[B:[a-z0-9]+]], %[[T:[a-z0-9]+]])
// CHECK: "memref.copy"(%[[A:[a-z0-9]+]], %[[B]])
// CHECK: "memref.copy"(%[[T]], %[[A]])
// CHECK-LABEL: @chain
// CHECK: scf.for
// CHECK-NOT: alloca
func.func private @exchange(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 2>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r:2 = scf.for %i = %c0 to %c5 step %c1 iter_args(%b = %x, %a = %y) -> (tensor<8xf32>, tensor<8xf32>) {
    scf.yield %a, %b : tensor<8xf32>, tensor<8xf32>
  }
  func.return %r#0, %r#1 : tensor<8xf32>, tensor<8xf32>
}
func.func private @chain(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 2>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r:2 = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %x, %b = %y) -> (tensor<8xf32>, tensor<8xf32>) {
    scf.yield %b, %b : tensor<8xf32>, tensor<8xf32>
  }
  func.return %r#0, %r#1 : tensor<8xf32>, tensor<8xf32>
}

// Each iteration reads a tensor from outside, and then overwrites it: the next one needs the old elements, so
// what is written has a buffer of its own.
// CHECK-LABEL: @read_in_the_next_iteration
// CHECK: linalg.generic {{.*}} outs(%[[T:.*]] : memref<8xf32>)
// CHECK: scf.for
// CHECK: linalg.generic {{.*}} ins(%[[T]] : memref<8xf32>)
// CHECK-NOT: outs(%[[T]] :
// CHECK: func.return
func.func private @read_in_the_next_iteration(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %half = arith.constant 0.5 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %e = tensor.empty() : tensor<8xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.tanh %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%acc = %x) -> (tensor<8xf32>) {
    %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%t : tensor<8xf32>) outs(%acc : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.addf %o, %a : f32
      linalg.yield %0 : f32
    } -> tensor<8xf32>
    %f = linalg.fill ins(%half : f32) outs(%t : tensor<8xf32>) -> tensor<8xf32>
    %u = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%f : tensor<8xf32>) outs(%s : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.mulf %o, %a : f32
      linalg.yield %0 : f32
    } -> tensor<8xf32>
    scf.yield %u : tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}
