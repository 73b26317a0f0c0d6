// RUN: stepwell-opt %s -p bufferize | filecheck %s

// %a is read after %b was made from it: %b works on a copy.
// CHECK-LABEL: @read_after_write
// CHECK-SAME: (%[[X:.*]]: memref<8xf32>, %[[A:.*]]: memref<8xf32>, %[[B:.*]]: memref<8xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[X]] : memref<8xf32>) outs(%[[A]] : memref<8xf32>)
// CHECK: "memref.copy"(%[[A]], %[[B]])
// CHECK: linalg.generic {{.*}} ins(%[[X]] : memref<8xf32>) outs(%[[B]] : memref<8xf32>)
// CHECK-NOT: memref.copy
func.func private @read_after_write(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 2>} {
  %e = tensor.empty() : tensor<8xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %p : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%a : tensor<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.mulf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  func.return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// An input is never written; when all of it would be overwritten, no copy is needed either.
// CHECK-LABEL: @inputs_stay
// CHECK-SAME: (%[[X:.*]]: memref<8xf32>, %[[OUT:.*]]: memref<8xf32>)
// CHECK-NOT: memref.copy
// CHECK: linalg.fill {{.*}} outs(%[[OUT]] : memref<8xf32>)
// CHECK-NOT: memref.copy
func.func private @inputs_stay(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%x : tensor<8xf32>) -> tensor<8xf32>
  func.return %f : tensor<8xf32>
}

// Elementwise, an operand may be overwritten as it is read; the transposed read may not see the result.
// CHECK-LABEL: @same_element
// CHECK-NOT: memref.copy
// CHECK-LABEL: @other_element
// CHECK: memref.alloca
func.func private @same_element(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %zero = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %f = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%f : tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.mulf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  func.return %g : tensor<4x4xf32>
}
func.func private @other_element(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %e = tensor.empty() : tensor<4x4xf32>
  %f = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%f : tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.mulf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  func.return %g : tensor<4x4xf32>
}

// A value from before a loop is needed in each iteration: what overwrites it works on a copy.
// CHECK-LABEL: @read_in_next_iteration
// CHECK: scf.for
// CHECK: "memref.copy"(%[[F:[a-z0-9]+]], %[[T:[a-z0-9]+]])
// CHECK: linalg.generic {{.*}} outs(%[[T]] : memref<8xf32>)
func.func private @read_in_next_iteration(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %p : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%sum = %x) -> (tensor<8xf32>) {
    %g = linalg.generic {indexing_maps = [affine_map<(i) -> (-i + 7)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%sum : tensor<8xf32>) outs(%f : tensor<8xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.addf %p, %o : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    scf.yield %g : tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}

// Both branches write the output.
// CHECK-LABEL: @branches
// CHECK-SAME: %[[OUT:[a-z]+]]: memref<8xf32>)
// CHECK: scf.if
// CHECK: linalg.generic {{.*}} outs(%[[OUT]] : memref<8xf32>)
// CHECK: } else {
// CHECK: "memref.copy"(%{{.*}}, %[[OUT]])
// CHECK-NOT: memref.copy
func.func private @branches(%x: tensor<8xf32>, %n: tensor<1xi32>) -> tensor<8xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %v = tensor.extract %n[%c0] : tensor<1xi32>
  %c = arith.cmpi sgt, %v, %one : i32
  %r = scf.if %c -> (tensor<8xf32>) {
    %e = tensor.empty() : tensor<8xf32>
    %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%p: f32, %o: f32):
      %t = arith.addf %p, %p : f32
      linalg.yield %t : f32
    } -> tensor<8xf32>
    scf.yield %s : tensor<8xf32>
  } else {
    scf.yield %x : tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}

// Two vectors are written over the same zeros: each has its own, rather than a copy of them.
// CHECK-LABEL: @shared_zeros
// CHECK-SAME: (%x: memref<4xf32>, %[[A:.*]]: memref<8xf32>, %[[B:.*]]: memref<8xf32>)
// CHECK-NOT: memref.copy
// CHECK-DAG: linalg.fill {{.*}} outs(%[[A]] : memref<8xf32>)
// CHECK-DAG: linalg.fill {{.*}} outs(%[[B]] : memref<8xf32>)
// CHECK-NOT: memref.copy
// CHECK: func.return
func.func private @shared_zeros(%x: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 2>} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %v = vector.transfer_read %x[%c0], %zero {in_bounds = [true]} : tensor<4xf32>, vector<4xf32>
  %a = vector.transfer_write %v, %f[%c0] {in_bounds = [true]} : vector<4xf32>, tensor<8xf32>
  %b = vector.transfer_write %v, %f[%c4] {in_bounds = [true]} : vector<4xf32>, tensor<8xf32>
  func.return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// A loop that writes a flat view of what it carries yields the same memory: no iteration copies it onto itself.
// CHECK-LABEL: @flat_view
// CHECK: scf.for
// CHECK: linalg.fill
// CHECK-NOT: memref.copy
// CHECK: func.return
func.func private @flat_view(%x: tensor<?x4xf32> {graph.dims = #graph.dims<["N", 4]>}, %N: index) -> (tensor<?x1x4xf32> {graph.dims = #graph.dims<["N", 1, 4]>}) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N"]>} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %e = tensor.empty(%N) : tensor<?x1x4xf32>
  %r = scf.for %i = %c0 to %N step %c1 iter_args(%all = %e) -> (tensor<?x1x4xf32>) {
    %flat = tensor.collapse_shape %all [[0 : i64, 1 : i64, 2 : i64]] : tensor<?x1x4xf32> into tensor<?xf32>
    %at = arith.muli %i, %c4 : index
    %s = tensor.extract_slice %flat[%at] [4] [1] : tensor<?xf32> to tensor<4xf32>
    %f = linalg.fill ins(%zero : f32) outs(%s : tensor<4xf32>) -> tensor<4xf32>
    %n = tensor.insert_slice %f into %flat[%at] [4] [1] : tensor<4xf32> into tensor<?xf32>
    %size = tensor.dim %all, %c0 : tensor<?x1x4xf32>
    %whole = tensor.expand_shape %n [[0 : i64, 1 : i64, 2 : i64]] output_shape [%size, 1, 4] : tensor<?xf32> into tensor<?x1x4xf32>
    scf.yield %whole : tensor<?x1x4xf32>
  }
  func.return %r : tensor<?x1x4xf32>
}
