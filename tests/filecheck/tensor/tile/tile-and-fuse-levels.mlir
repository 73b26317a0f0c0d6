// RUN: stepwell-opt %s --split-input-file -p tile-and-fuse | filecheck %s

// Blocks of the sum are outside, then the loops that threads share, then steps of the sum; two rows of
// vectors are written out.
// CHECK-LABEL: @blocks
// CHECK: scf.for %[[R:.*]] = %c0 to %c12 step %c6
// CHECK: tensor.extract_slice %A[0, %[[R]]] [32, 6] [1, 1]
// CHECK: scf.for %[[J:.*]] = %c0 to %c48 step %c16
// CHECK: scf.for %[[I:.*]] = %c0 to %c32 step %c8
// CHECK: scf.for %{{.*}} = %c0 to %c6 step %c1
// CHECK: tensor.extract_slice %{{.*}}[0, {{.*}}] [4, 1] [1, 1]
// CHECK: linalg.generic {{.*}} attrs = {sched.schedule = #sched.schedule<tile = [0, 0, 0], vectorize = 1>}
// CHECK: tensor.extract_slice %{{.*}}[4, {{.*}}] [4, 1] [1, 1]
// CHECK: linalg.generic {{.*}} attrs = {sched.schedule = #sched.schedule<tile = [0, 0, 0], vectorize = 1>}
// CHECK-NOT: linalg.generic
// CHECK: } {sched.parallel}
// CHECK: } {sched.parallel}
#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @blocks(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>)
    attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 0, 6]>, <tile = [8, 16, 1], parallel = [1, 0]>, <tile = [4, 0, 0]>], vectorize = 1, unroll = [0]>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}

// -----

// A level that is cut by the tiles of the anchor stays where its tiles are smaller; a fill does not take a
// product into its loops whose parallel loops are inside of a block.
// CHECK-LABEL: @outside
// CHECK: linalg.fill
// CHECK: scf.for %{{.*}} = %c0 to %c12 step %c6
// CHECK-NOT: linalg.fill
#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @outside(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %E: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %D = linalg.fill {sched.schedule = #sched.schedule<tile = [1, 16], parallel = [0, 1], vectorize = 1>} ins(%zero : f32) outs(%E : tensor<32x48xf32>) -> tensor<32x48xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>)
    attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 0, 6]>, <tile = [8, 16, 1], parallel = [1, 0]>], vectorize = 1>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}

// -----

// An op whose place is the root is computed before the loops of its reader, which would take it in.
// CHECK-LABEL: @root
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]
// CHECK: scf.for
// CHECK-NOT: iterator_types = ["parallel", "parallel", "reduction"]
#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
#d = affine_map<(i, j) -> (i, j)>
func.func private @root(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) attrs = {sched.at = "root"} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  %F = linalg.generic {indexing_maps = [#d, #d], iterator_types = ["parallel", "parallel"]}
    ins(%C : tensor<32x48xf32>) outs(%D : tensor<32x48xf32>) attrs = {sched.schedule = #sched.schedule<tile = [8, 0], parallel = [0]>} {
  ^bb0(%x: f32, %y: f32):
    %p = arith.addf %x, %x : f32
    linalg.yield %p : f32
  } -> tensor<32x48xf32>
  func.return %F : tensor<32x48xf32>
}

// -----

// The size of what a loop carries is the size that it starts with: the second loop ends at the symbol.
// CHECK-LABEL: @after_a_loop
// CHECK: scf.for %{{.*}} = %c0 to %N step %c1
// CHECK-NOT: tensor.dim
// CHECK: scf.for %{{.*}} = %c0 to %N step %c1
#x = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func private @after_a_loop(%x: tensor<?x?xf32> {graph.dims = #graph.dims<["N", "C"]>}, %N: index, %C: index)
    -> (tensor<?xf32> {graph.dims = #graph.dims<["N"]>})
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N", "C"]>} {
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty(%N) : tensor<?xf32>
  %f = linalg.fill {sched.schedule = #sched.schedule<tile = [1], parallel = [0]>} ins(%low : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %top = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x?xf32>) outs(%f : tensor<?xf32>)
    attrs = {sched.schedule = #sched.schedule<tile = [1, 0], parallel = [0]>} {
  ^bb0(%a: f32, %b: f32):
    %m = arith.maximumf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<?xf32>
  func.return %top : tensor<?xf32>
}
