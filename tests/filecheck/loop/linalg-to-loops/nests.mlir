// RUN: stepwell-opt %s -p linalg-to-loops | filecheck %s
// RUN: stepwell-opt %s -p linalg-to-loops,linalg-to-loops | filecheck %s

// Sums stay in a register; what an index does not depend on is read outside of the loop.
// CHECK-LABEL: @weighted_sum
// CHECK-SAME: (%[[X:.*]]: memref<4x8xf32>, %[[W:.*]]: memref<4xf32>, %[[Y:.*]]: memref<4xf32>)
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-NEXT: %[[INIT:.*]] = memref.load %[[Y]][%[[I]]]
// CHECK-NEXT: %[[B:.*]] = memref.load %[[W]][%[[I]]]
// CHECK-NEXT: %[[SUM:.*]] = scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[ACC:.*]] = %[[INIT]]) -> (f32) {
// CHECK-NEXT: %[[A:.*]] = memref.load %[[X]][%[[I]], %[[J]]]
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[A]], %[[B]]
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[ACC]], %[[P]]
// CHECK-NEXT: scf.yield %[[S]]
// CHECK: memref.store %[[SUM]], %[[Y]][%[[I]]]
func.func @weighted_sum(%x: memref<4x8xf32>, %w: memref<4xf32>, %y: memref<4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x, %w : memref<4x8xf32>, memref<4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// A convolution: the window's operand gives the loops their extents and is gone afterwards. Index arithmetic
// is done as far out as it can be.
// CHECK-LABEL: @max_pool
// CHECK-NOT: memref.alloca
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK: arith.muli %[[I]], %{{.*}} : index
// CHECK: scf.for %[[K:.*]] = %{{.*}} iter_args
// CHECK: arith.addi %{{.*}}, %[[K]] : index
// CHECK-NOT: arith.muli
// CHECK: memref.store
func.func @max_pool(%x: memref<9xf32>, %y: memref<4xf32>) {
  %w = memref.alloca() : memref<3xf32>
  linalg.generic {indexing_maps = [affine_map<(i, k) -> (i * 2 + k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x, %w : memref<9xf32>, memref<3xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%a: f32, %u: f32, %old: f32):
    %s = arith.maximumf %old, %a : f32
    linalg.yield %s : f32
  }
  func.return
}

// Dynamic extents, indices in the body, a dimension of extent 1 without a loop.
// CHECK-LABEL: @iota
// CHECK-SAME: (%[[X:.*]]: memref<1x?xi64>)
// CHECK: %[[N:.*]] = memref.dim %[[X]], %{{.*}} : memref<1x?xi64>
// CHECK: scf.for %[[J:.*]] = %{{.*}} to %[[N]] step
// CHECK-NEXT: arith.index_cast %[[J]] : index to i64
// CHECK-NOT: scf.for
func.func @iota(%x: memref<1x?xi64>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%x : memref<1x?xi64>) {
  ^bb0(%o: i64):
    %j = linalg.index 1 : index
    %v = arith.index_cast %j : index to i64
    linalg.yield %v : i64
  }
  func.return
}

// Two results at once: the greatest element and where it is.
// CHECK-LABEL: @argmax
// CHECK: %{{.*}}, %{{.*}} = scf.for %[[J:.*]] = %{{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (f32, i64) {
func.func @argmax(%x: memref<3x7xf32>, %best: memref<3xf32>, %at: memref<3xi64>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<3x7xf32>) outs(%best, %at : memref<3xf32>, memref<3xi64>) {
  ^bb0(%a: f32, %b: f32, %p: i64):
    %j = linalg.index 1 : index
    %here = arith.index_cast %j : index to i64
    %c = arith.cmpf ogt, %a, %b : f32
    %m = arith.select %c, %a, %b : f32
    %q = arith.select %c, %here, %p : i64
    linalg.yield %m, %q : f32, i64
  }
  func.return
}

// Copies with gaps, and fills; rows without gaps are left to be moved as they are.
// CHECK-LABEL: @copy
// CHECK: memref.store %{{.*}}, %{{.*}}[%{{.*}}] : memref<4xf32, strided<[2], offset: 1>>
// CHECK: memref.store %{{.*}}, %{{.*}}[] : memref<f32>
// CHECK: "memref.copy"(%x, %{{.*}}) : (memref<4xf32>, memref<4xf32, strided<[1], offset: 5>>) -> ()
// CHECK-NOT: memref.copy
func.func @copy(%x: memref<4xf32>, %y: memref<9xf32>, %z: memref<f32>) {
  %one = arith.constant 1.0 : f32
  %v = memref.subview %y[1] [4] [2] : memref<9xf32> to memref<4xf32, strided<[2], offset: 1>>
  "memref.copy"(%x, %v) : (memref<4xf32>, memref<4xf32, strided<[2], offset: 1>>) -> ()
  linalg.fill ins(%one : f32) outs(%z : memref<f32>)
  %w = memref.subview %y[5] [4] [1] : memref<9xf32> to memref<4xf32, strided<[1], offset: 5>>
  "memref.copy"(%x, %w) : (memref<4xf32>, memref<4xf32, strided<[1], offset: 5>>) -> ()
  func.return
}

// An output that moves with a reduction is read and written each time.
// CHECK-LABEL: @histogram
// CHECK: scf.for
// CHECK: memref.load
// CHECK: arith.addf
// CHECK: memref.store
func.func @histogram(%x: memref<6xf32>, %y: memref<6xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i floordiv 2)>], iterator_types = ["reduction"]} ins(%x : memref<6xf32>) outs(%y : memref<6xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.addf %old, %a : f32
    linalg.yield %s : f32
  }
  func.return
}

// The outermost loop runs in parallel when asked to.
// CHECK-LABEL: @parallel
// CHECK: "scf.parallel"
// CHECK: scf.for
// CHECK: scf.reduce
func.func @parallel(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<4x8xf32>) outs(%y : memref<4x8xf32>) attrs = {sched.parallel} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  }
  func.return
}
