// RUN: stepwell-opt %s -p bufferize | filecheck %s

// Small temporaries are on the stack, large ones in scratch; two that never live together share a place there.
// CHECK-LABEL: @scratch
// CHECK-SAME: %[[SCRATCH:[a-z]+]]: memref<?xi8> {sched.align = 64 : i64})
// CHECK-SAME: scratch = 160000
// CHECK-DAG: memref.view %[[SCRATCH]][%{{.*}}][] : memref<?xi8> to memref<4x5000xf32>
// CHECK-DAG: memref.view %[[SCRATCH]][%{{.*}}][] : memref<?xi8> to memref<4x5000xf32>
// CHECK-DAG: memref.view %[[SCRATCH]][%{{.*}}][] : memref<?xi8> to memref<4x5000xf32>
// CHECK: %{{.*}} = memref.alloca() {alignment = 64 : i64} : memref<4xf32>
func.func private @scratch(%x: tensor<4x5000xf32>) -> tensor<4xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4x5000xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, -j + 4999)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x5000xf32>) outs(%e0 : tensor<4x5000xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x5000xf32>
  %e1 = tensor.empty() : tensor<4x5000xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, -j + 4999)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x5000xf32>) outs(%e1 : tensor<4x5000xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.mulf %p, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x5000xf32>
  %e2 = tensor.empty() : tensor<4x5000xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, -j + 4999)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<4x5000xf32>) outs(%e2 : tensor<4x5000xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.negf %p : f32
    linalg.yield %s : f32
  } -> tensor<4x5000xf32>
  %e3 = tensor.empty() : tensor<4xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<4xf32>) -> tensor<4xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%c : tensor<4x5000xf32>) outs(%f3 : tensor<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %e4 = tensor.empty() : tensor<4xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i) -> (-i + 3)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%sum : tensor<4xf32>) outs(%e4 : tensor<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<4xf32>
  func.return %d : tensor<4xf32>
}

// Sizes over symbols: the scratch is an expression over them.
// CHECK-LABEL: @symbolic
// CHECK-SAME: %[[N:[a-zA-Z]+]]: index)
// CHECK-SAME: scratch = "64 * ((32 * N) ceildiv 64)"
// CHECK: memref.view %{{.*}}[%{{.*}}][%[[N]]] : memref<?xi8> to memref<?x8xf32>
func.func private @symbolic(%x: tensor<?x8xf32> {graph.dims = #graph.dims<["N", 8]>}, %N: index) -> (tensor<?x8xf32> {graph.dims = #graph.dims<["N", 8]>}) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N"]>} {
  %e0 = tensor.empty(%N) : tensor<?x8xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x8xf32>) outs(%e0 : tensor<?x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %p : f32
    linalg.yield %s : f32
  } -> tensor<?x8xf32>
  %e1 = tensor.empty(%N) : tensor<?x8xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, -j + 7)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<?x8xf32>) outs(%e1 : tensor<?x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<?x8xf32>
  func.return %b : tensor<?x8xf32>
}

// The last tile may be smaller: memory for the largest one, seen in the size that is there.
// CHECK-LABEL: @ragged_tile
// CHECK: %[[BYTES:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64xi8>
// CHECK: %[[SIZE:.*]] = arith.minsi
// CHECK: memref.view %[[BYTES]][%{{.*}}][%[[SIZE]]] : memref<64xi8> to memref<?xf32>
func.func private @ragged_tile(%x: tensor<?xf32> {graph.dims = #graph.dims<["N"]>}, %N: index) -> (tensor<?xf32> {graph.dims = #graph.dims<["N"]>}) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N"]>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %e = tensor.empty(%N) : tensor<?xf32>
  %r = scf.for %i = %c0 to %N step %c16 iter_args(%acc = %e) -> (tensor<?xf32>) {
    %left = arith.subi %N, %i : index
    %size = arith.minsi %left, %c16 : index
    %xs = tensor.extract_slice %x[%i] [%size] [1] : tensor<?xf32> to tensor<?xf32>
    %t = tensor.empty(%size) : tensor<?xf32>
    %a = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%xs : tensor<?xf32>) outs(%t : tensor<?xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.addf %p, %p : f32
      linalg.yield %s : f32
    } -> tensor<?xf32>
    %one = tensor.extract %a[%c0] : tensor<?xf32>
    %s = tensor.extract_slice %acc[%i] [%size] [1] : tensor<?xf32> to tensor<?xf32>
    %f = linalg.fill ins(%one : f32) outs(%s : tensor<?xf32>) -> tensor<?xf32>
    %n = tensor.insert_slice %f into %acc[%i] [%size] [1] : tensor<?xf32> into tensor<?xf32>
    scf.yield %n : tensor<?xf32>
  }
  func.return %r : tensor<?xf32>
}

// Temporaries of parallel iterations that are too large for a stack: each iteration has its part of scratch.
// CHECK-LABEL: @scratch_by_iteration
// CHECK-SAME: scratch = 1600000
// CHECK: "scf.parallel"
// CHECK: ^{{.*}}(%[[I:.*]]: index):
// CHECK: %[[AT:.*]] = arith.muli %{{.*}}, %{{.*}} : index
// CHECK: memref.view %{{.*}}[%[[AT]]][] : memref<?xi8> to memref<100000xf32>
func.func private @scratch_by_iteration(%x: tensor<4x100000xf32>) -> tensor<4x100000xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %e = tensor.empty() : tensor<4x100000xf32>
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %e) -> (tensor<4x100000xf32>) {
    %xs = tensor.extract_slice %x[%i, 0] [1, 100000] [1, 1] : tensor<4x100000xf32> to tensor<100000xf32>
    %t = tensor.empty() : tensor<100000xf32>
    %a = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%xs : tensor<100000xf32>) outs(%t : tensor<100000xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.addf %p, %p : f32
      linalg.yield %s : f32
    } -> tensor<100000xf32>
    %s = tensor.extract_slice %acc[%i, 0] [1, 100000] [1, 1] : tensor<4x100000xf32> to tensor<100000xf32>
    %f = linalg.generic {indexing_maps = [affine_map<(i) -> (-i + 99999)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : tensor<100000xf32>) outs(%s : tensor<100000xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<100000xf32>
    %n = tensor.insert_slice %f into %acc[%i, 0] [1, 100000] [1, 1] : tensor<100000xf32> into tensor<4x100000xf32>
    scf.yield %n : tensor<4x100000xf32>
  } {sched.parallel}
  func.return %r : tensor<4x100000xf32>
}

// Each is small, all are too many for a stack: what has no room there is in scratch.
// CHECK-LABEL: @too_many_for_a_stack
// CHECK-SAME: scratch = 960000
// CHECK-COUNT-4: memref.alloca() {{.*}} : memref<60000xf32>
// CHECK-NOT: memref.alloca
// CHECK: memref.view %{{.*}} : memref<?xi8> to memref<60000xf32>
func.func private @too_many_for_a_stack(%x: tensor<4x60000xf32>) -> tensor<4x60000xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %e = tensor.empty() : tensor<4x60000xf32>
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %e) -> (tensor<4x60000xf32>) {
    %a0 = tensor.extract_slice %x[%i, 0] [1, 60000] [1, 1] : tensor<4x60000xf32> to tensor<60000xf32>
    %t1 = tensor.empty() : tensor<60000xf32>
    %a1 = linalg.generic {indexing_maps = [affine_map<(i) -> (-i + 59999)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a0 : tensor<60000xf32>) outs(%t1 : tensor<60000xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<60000xf32>
    %t2 = tensor.empty() : tensor<60000xf32>
    %a2 = linalg.generic {indexing_maps = [affine_map<(i) -> (-i + 59999)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a1 : tensor<60000xf32>) outs(%t2 : tensor<60000xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<60000xf32>
    %t3 = tensor.empty() : tensor<60000xf32>
    %a3 = linalg.generic {indexing_maps = [affine_map<(i) -> (-i + 59999)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a2 : tensor<60000xf32>) outs(%t3 : tensor<60000xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<60000xf32>
    %t4 = tensor.empty() : tensor<60000xf32>
    %a4 = linalg.generic {indexing_maps = [affine_map<(i) -> (-i + 59999)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a3 : tensor<60000xf32>) outs(%t4 : tensor<60000xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<60000xf32>
    %t5 = tensor.empty() : tensor<60000xf32>
    %a5 = linalg.generic {indexing_maps = [affine_map<(i) -> (-i + 59999)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a4 : tensor<60000xf32>) outs(%t5 : tensor<60000xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<60000xf32>
    %s = tensor.extract_slice %acc[%i, 0] [1, 60000] [1, 1] : tensor<4x60000xf32> to tensor<60000xf32>
    %f = linalg.generic {indexing_maps = [affine_map<(i) -> (-i + 59999)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a5 : tensor<60000xf32>) outs(%s : tensor<60000xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<60000xf32>
    %n = tensor.insert_slice %f into %acc[%i, 0] [1, 60000] [1, 1] : tensor<60000xf32> into tensor<4x60000xf32>
    scf.yield %n : tensor<4x60000xf32>
  } {sched.parallel}
  func.return %r : tensor<4x60000xf32>
}
