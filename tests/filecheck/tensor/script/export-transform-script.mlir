// RUN: stepwell-opt %s --split-input-file -p export-transform-script | filecheck %s
// RUN: stepwell-opt %s --split-input-file --remarks -p export-transform-script 2>&1 | filecheck %s --check-prefix=REMARK

// Loops are written out after the lanes, whose op is inside of them.
// CHECK: builtin.module attributes {transform.with_named_sequence}
// CHECK-NEXT: transform.named_sequence @__transform_main(%[[M:.*]]: !transform.any_op {transform.readonly})
// CHECK-NEXT: %[[K:.*]] = transform.structured.match ops{["func.func"]} attributes {sym_name = "k"} in %[[M]]
// CHECK-NEXT: %[[OPS:.*]] = transform.structured.match ops{["linalg.fill", "linalg.generic"]} in %[[K]]
// CHECK-NEXT: %[[F:.*]], %[[C:.*]] = "transform.split_handle"(%[[OPS]])
// CHECK-NEXT: %[[B:.*]], %{{.*}} = transform.structured.tile_using_for %[[C]] tile_sizes [0, 0, 64]
// CHECK-NEXT: %[[J:.*]], %{{.*}} = "transform.structured.tile_using_forall"(%[[B]])
// CHECK-SAME: static_tile_sizes = array<i64: 0, 16, 0>
// CHECK-NEXT: %[[I:.*]], %{{.*}} = "transform.structured.tile_using_forall"(%[[J]])
// CHECK-SAME: static_tile_sizes = array<i64: 6, 0, 0>
// CHECK-NEXT: %[[R:.*]], %[[L:.*]] = transform.structured.tile_using_for %[[I]] tile_sizes [0, 0, 1]
// CHECK-NEXT: "transform.structured.vectorize"(%[[R]])
// CHECK-SAME: static_vector_sizes = array<i64: 6, 16, 1>
// CHECK-NEXT: "transform.loop.unroll"(%[[L]]) {factor = 64 : i64}
// CHECK-NEXT: transform.yield
#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x128xf32>, %B: tensor<128x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x48xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x48xf32>) -> tensor<32x48xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x128xf32>, tensor<128x48xf32>) outs(%D : tensor<32x48xf32>)
    attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 0, 64]>, <tile = [6, 16, 1], parallel = [1, 0]>], vectorize = 1, unroll = [2]>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}

// -----

// Producers are computed in each loop of tiles that threads share, the last one first.
// REMARK: not exported: sched.at; upstream's fuse_into_containing_op takes producers
// REMARK: not exported: the schedule of an op in the loops of C
// REMARK: not exported: unroll of a loop with a rest, or of open extent
// CHECK: %[[P:.*]], %[[Q:.*]], %[[C:.*]], %{{.*}} = "transform.split_handle"
// CHECK-NEXT: %[[T:.*]], %[[OUTER:.*]] = "transform.structured.tile_using_forall"(%[[C]])
// CHECK-NEXT: %[[Q1:.*]], %{{.*}} = "transform.structured.fuse_into_containing_op"(%[[Q]], %[[OUTER]])
// CHECK-NEXT: %[[P1:.*]], %{{.*}} = "transform.structured.fuse_into_containing_op"(%[[P]], %[[OUTER]])
// CHECK-NEXT: %[[U:.*]], %[[INNER:.*]] = "transform.structured.tile_using_forall"(%[[T]])
// CHECK-NEXT: "transform.structured.fuse_into_containing_op"(%[[Q1]], %[[INNER]])
// CHECK-NEXT: "transform.structured.fuse_into_containing_op"(%[[P1]], %[[INNER]])
// CHECK-NEXT: tile_using_for %[[U]] tile_sizes [0, 5]
// CHECK-NEXT: transform.yield
#same = affine_map<(i, j) -> (i, j)>
func.func private @k(%A: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %e = tensor.empty() : tensor<32x48xf32>
  %P = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%A : tensor<32x48xf32>) outs(%e : tensor<32x48xf32>) attrs = {sched.name = "P", sched.at = "C"} {
  ^bb0(%x: f32, %y: f32):
    %s = math.exp %x : f32
    linalg.yield %s : f32
  } -> tensor<32x48xf32>
  %Q = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%P : tensor<32x48xf32>) outs(%e : tensor<32x48xf32>) attrs = {sched.name = "Q", sched.at = "C", sched.schedule = #sched.schedule<tile = [8, 16]>} {
  ^bb0(%x: f32, %y: f32):
    %s = math.sqrt %x : f32
    linalg.yield %s : f32
  } -> tensor<32x48xf32>
  %C = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%P, %Q : tensor<32x48xf32>, tensor<32x48xf32>) outs(%e : tensor<32x48xf32>)
    attrs = {sched.name = "C", sched.schedule = #sched.schedule<levels = [<tile = [8, 16], parallel = [1, 0]>, <tile = [0, 5]>], unroll = [1]>} {
  ^bb0(%x: f32, %z: f32, %y: f32):
    %s = arith.addf %x, %z : f32
    linalg.yield %s : f32
  } -> tensor<32x48xf32>
  %D = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%C : tensor<32x48xf32>) outs(%e : tensor<32x48xf32>) attrs = {sched.name = "D", sched.at = "C"} {
  ^bb0(%x: f32, %y: f32):
    %s = math.exp %x : f32
    linalg.yield %s : f32
  } -> tensor<32x48xf32>
  func.return %D : tensor<32x48xf32>
}

// -----

// REMARK: not exported: sched.at; the loops of other levels are outside of the parallel ones
// CHECK: transform.structured.tile_using_for
// CHECK-NOT: fuse_into_containing_op
#same = affine_map<(i, j) -> (i, j)>
func.func private @k(%A: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %e = tensor.empty() : tensor<32x48xf32>
  %P = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%A : tensor<32x48xf32>) outs(%e : tensor<32x48xf32>) attrs = {sched.name = "P", sched.at = "C"} {
  ^bb0(%x: f32, %y: f32):
    %s = math.exp %x : f32
    linalg.yield %s : f32
  } -> tensor<32x48xf32>
  %Q = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%P : tensor<32x48xf32>) outs(%e : tensor<32x48xf32>) attrs = {sched.name = "Q", sched.at = "C"} {
  ^bb0(%x: f32, %y: f32):
    %s = math.sqrt %x : f32
    linalg.yield %s : f32
  } -> tensor<32x48xf32>
  %C = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%P, %Q : tensor<32x48xf32>, tensor<32x48xf32>) outs(%e : tensor<32x48xf32>)
    attrs = {sched.name = "C", sched.schedule = #sched.schedule<levels = [<tile = [0, 24]>, <tile = [8, 8], parallel = [0]>]>} {
  ^bb0(%x: f32, %z: f32, %y: f32):
    %s = arith.addf %x, %z : f32
    linalg.yield %s : f32
  } -> tensor<32x48xf32>
  %D = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%C : tensor<32x48xf32>) outs(%e : tensor<32x48xf32>) attrs = {sched.name = "D", sched.at = "C"} {
  ^bb0(%x: f32, %y: f32):
    %s = math.exp %x : f32
    linalg.yield %s : f32
  } -> tensor<32x48xf32>
  func.return %D : tensor<32x48xf32>
}
