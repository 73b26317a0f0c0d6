// RUN: stepwell-opt %s -p tile-and-fuse --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p tile-and-fuse,tile-and-fuse --split-input-file | filecheck %s

// Loops over tiles of the result, shared with the fill before and the relu after; inside, the product's own loop.
// CHECK-LABEL: @matmul_relu
// CHECK: %[[E:.*]] = tensor.empty() : tensor<8x2x16xf32>
// CHECK: %{{.*}} = scf.for %[[NO:.*]] = %c0 to %c2 step %c1 iter_args(%[[O1:.*]] = %[[E]])
// CHECK-NEXT: scf.for %[[M:.*]] = %c0 to %c8 step %c4 iter_args(%[[O2:.*]] = %[[O1]])
// CHECK: %[[T:.*]] = tensor.empty() : tensor<4x1x16xf32>
// CHECK-NEXT: %[[F:.*]] = linalg.fill {sched.schedule = #sched.schedule<tile = [0, 0, 0], vectorize = 2>} {{.*}} outs(%[[T]] : tensor<4x1x16xf32>)
// CHECK-NEXT: %[[A:.*]] = tensor.extract_slice %a[%[[M]], 0] [4, 32] [1, 1]
// CHECK-NEXT: %[[B:.*]] = tensor.extract_slice %b[%[[NO]], 0, 0] [1, 32, 16] [1, 1, 1]
// CHECK-NEXT: %[[ACC:.*]] = scf.for %[[K:.*]] = %c0 to %c32 step %c1 iter_args(%[[S:.*]] = %[[F]]) -> (tensor<4x1x16xf32>)
// CHECK-NEXT: tensor.extract_slice %[[A]][0, %[[K]]] [4, 1] [1, 1]
// CHECK-NEXT: tensor.extract_slice %[[B]][0, %[[K]], 0] [1, 1, 16] [1, 1, 1]
// CHECK-NEXT: linalg.generic {{.*}} outs(%[[S]] : tensor<4x1x16xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 0, 0, 0], vectorize = 2>}
// CHECK: %[[D:.*]] = tensor.extract_slice %[[O2]][%[[M]], %[[NO]], 0] [4, 1, 16] [1, 1, 1]
// CHECK-NEXT: %[[R:.*]] = linalg.generic {{.*}} ins(%[[ACC]] : tensor<4x1x16xf32>) outs(%[[D]] : tensor<4x1x16xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 0, 0], vectorize = 2>}
// CHECK: tensor.insert_slice %[[R]] into %[[O2]][%[[M]], %[[NO]], 0] [4, 1, 16] [1, 1, 1]
// CHECK: } {sched.parallel}
// CHECK: } {sched.parallel}
func.func private @matmul_relu(%a: tensor<8x32xf32>, %b: tensor<2x32x16xf32>) -> tensor<8x2x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x2x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x2x16xf32>) -> tensor<8x2x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, no, ni, k) -> (m, k)>, affine_map<(m, no, ni, k) -> (no, k, ni)>, affine_map<(m, no, ni, k) -> (m, no, ni)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<8x32xf32>, tensor<2x32x16xf32>) outs(%f : tensor<8x2x16xf32>) attrs = {sched.schedule = #sched.schedule<tile = [4, 1, 0, 1], parallel = [1, 0], vectorize = 2>} {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<8x2x16xf32>
  %e2 = tensor.empty() : tensor<8x2x16xf32>
  %relu = linalg.generic {indexing_maps = [affine_map<(m, no, ni) -> (m, no, ni)>, affine_map<(m, no, ni) -> (m, no, ni)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%r : tensor<8x2x16xf32>) outs(%e2 : tensor<8x2x16xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %z = arith.maximumf %x, %zero : f32
    linalg.yield %z : f32
  } -> tensor<8x2x16xf32>
  func.return %relu : tensor<8x2x16xf32>
}

// -----

// An extent that is no multiple of the tile gets a second, narrower copy: no loop, no mask.
// CHECK-LABEL: @static_rest
// CHECK: scf.for %[[I:.*]] = %c0 to %c64 step %c32
// CHECK: tensor.extract_slice %x[%[[I]]] [32] [1]
// CHECK: } {sched.parallel}
// CHECK-NEXT: tensor.extract_slice %x[64] [6] [1]
// CHECK-NEXT: tensor.extract_slice %{{.*}}[64] [6] [1]
// CHECK-NEXT: linalg.generic
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[64] [6] [1]
func.func private @static_rest(%x: tensor<70xf32>) -> tensor<70xf32> {
  %e = tensor.empty() : tensor<70xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<70xf32>) outs(%e : tensor<70xf32>) attrs = {sched.schedule = #sched.schedule<tile = [32], parallel = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<70xf32>
  func.return %r : tensor<70xf32>
}

// -----

// A dynamic extent gets loops with narrower tiles: 16 along the lanes, then 1. The symbol's argument is the extent.
// CHECK-LABEL: @dynamic_rest
// CHECK: %[[R:.*]] = arith.remui %n, %c64 : index
// CHECK-NEXT: %[[END:.*]] = arith.subi %n, %[[R]] : index
// CHECK-NEXT: scf.for %{{.*}} = %c0 to %[[END]] step %c64
// CHECK: scf.for %{{.*}} = %[[END]] to %[[END2:.*]] step %c16
// CHECK: scf.for %[[I:.*]] = %[[END2]] to %{{.*}} step %c1
// CHECK-NEXT: tensor.extract_slice %x[%[[I]]] [1] [1]
func.func private @dynamic_rest(%x: tensor<?xf32> {graph.dims = #graph.dims<["N"]>}, %n: index) -> tensor<?xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N"]>} {
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) attrs = {sched.schedule = #sched.schedule<tile = [64], parallel = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32):
    %n1 = arith.negf %a : f32
    linalg.yield %n1 : f32
  } -> tensor<?xf32>
  func.return %r : tensor<?xf32>
}

// -----

// Where one loop moves an index, a tile is a strided slice; a whole window is a wider one, cut again by its loop.
// CHECK-LABEL: @strided_window
// CHECK: scf.for %[[O:.*]] = %c0 to %c8 step %c4
// CHECK: %[[FROM:.*]] = arith.muli %[[O]], %c2 : index
// CHECK-NEXT: %[[X:.*]] = tensor.extract_slice %x[%[[FROM]], 0] [9, 16] [1, 1] : tensor<17x16xf32> to tensor<9x16xf32>
// CHECK: scf.for %[[K:.*]] = %c0 to %c3 step %c1
// CHECK-NEXT: tensor.extract_slice %[[X]][%[[K]], 0] [4, 16] [2, 1] : tensor<9x16xf32> to tensor<4x16xf32>
// CHECK: affine_map<(d0, d1, d2) -> (d0, d1)>
func.func private @strided_window(%x: tensor<17x16xf32>, %w: tensor<3x16xf32>, %init: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(o, c, k) -> (o * 2 + k, c)>, affine_map<(o, c, k) -> (k, c)>, affine_map<(o, c, k) -> (o, c)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<17x16xf32>, tensor<3x16xf32>) outs(%init : tensor<8x16xf32>) attrs = {sched.schedule = #sched.schedule<tile = [4, 0, 1], parallel = [0], vectorize = 1>} {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  func.return %r : tensor<8x16xf32>
}

// -----

// A sum along the lanes keeps one partial sum a lane, and combines them when the loop is done.
// CHECK-LABEL: @row_sum
// CHECK: scf.for %[[I:.*]] = %c0 to %c5 step %c1
// CHECK: %[[X:.*]] = tensor.extract_slice %x[%[[I]], 0] [1, 100] [1, 1]
// CHECK: %[[P:.*]] = tensor.empty() : tensor<1x32xf32>
// CHECK-NEXT: %[[Z:.*]] = linalg.fill {{.*}} outs(%[[P]] : tensor<1x32xf32>)
// CHECK-NEXT: %[[PARTS:.*]] = scf.for %{{.*}} = %c0 to %c96 step %c32 iter_args(%{{.*}} = %[[Z]]) -> (tensor<1x32xf32>)
// CHECK: iterator_types = ["parallel", "parallel"]
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[PARTS]] : tensor<1x32xf32>)
// CHECK: %[[REST:.*]] = tensor.extract_slice %[[X]][0, 96] [1, 4] [1, 1]
// CHECK-NEXT: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[REST]] : tensor<1x4xf32>) outs(%[[SUM]] : tensor<1xf32>)
func.func private @row_sum(%x: tensor<5x100xf32>, %init: tensor<5xf32>) -> tensor<5xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<5x100xf32>) outs(%init : tensor<5xf32>) attrs = {sched.schedule = #sched.schedule<tile = [1, 32], parallel = [0], vectorize = 1>} {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  } -> tensor<5xf32>
  func.return %r : tensor<5xf32>
}

// -----

// In a tile, `linalg.index` counts from the tile's place.
// CHECK-LABEL: @positions
// CHECK: scf.for %[[I:.*]] = %c0 to %c32 step %c16
// CHECK: %[[LOCAL:.*]] = linalg.index 0 : index
// CHECK-NEXT: %[[GLOBAL:.*]] = arith.addi %[[LOCAL]], %[[I]] : index
// CHECK-NEXT: arith.index_cast %[[GLOBAL]]
func.func private @positions() -> tensor<32xi64> {
  %e = tensor.empty() : tensor<32xi64>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<32xi64>) attrs = {sched.schedule = #sched.schedule<tile = [16], parallel = [0], vectorize = 0>} {
  ^bb0(%b: i64):
    %i = linalg.index 0 : index
    %v = arith.index_cast %i : index to i64
    linalg.yield %v : i64
  } -> tensor<32xi64>
  func.return %r : tensor<32xi64>
}

// -----

// A user between the ops of a group keeps its op out of the group: it would run before its operand is there.
// CHECK-LABEL: @not_between
// CHECK: %[[N:.*]] = linalg.generic {{.*}} ins(%x : tensor<32xf32>)
// CHECK: tensor.extract_slice %[[N]][0] [1] [1]
// CHECK: scf.for
func.func private @not_between(%x: tensor<32xf32>) -> (tensor<1xf32>, tensor<32xf32>) {
  %e = tensor.empty() : tensor<32xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<32xf32>) outs(%e : tensor<32xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.negf %a : f32
    linalg.yield %v : f32
  } -> tensor<32xf32>
  %first = tensor.extract_slice %n[0] [1] [1] : tensor<32xf32> to tensor<1xf32>
  %e2 = tensor.empty() : tensor<32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%n : tensor<32xf32>) outs(%e2 : tensor<32xf32>) attrs = {sched.schedule = #sched.schedule<tile = [16], parallel = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.addf %a, %a : f32
    linalg.yield %v : f32
  } -> tensor<32xf32>
  func.return %first, %r : tensor<1xf32>, tensor<32xf32>
}

// -----

// What a reduction along lanes reads is computed in its loops, where all else that reads it comes later.
// CHECK-LABEL: @row_of_squares
// CHECK: scf.for %[[J:.*]] = %c0 to %c96 step %c32 iter_args(%{{.*}} = %{{.*}}, %[[SO_FAR:.*]] = %{{.*}}) -> (tensor<1x32xf32>, tensor<1x100xf32>)
// CHECK: %[[SQUARE:.*]] = linalg.generic {{.*}}
// CHECK: tensor.insert_slice %[[SQUARE]] into %[[SO_FAR]][0, %[[J]]] [1, 32] [1, 1]
// CHECK-NEXT: linalg.generic {{.*}} ins(%[[SQUARE]] : tensor<1x32xf32>)
// CHECK: ins(%{{.*}} : tensor<1x4xf32>) outs(%{{.*}} : tensor<1x4xf32>)
// CHECK-NOT: step %c32
// CHECK: return
func.func private @row_of_squares(%x: tensor<1x100xf32>, %init: tensor<1xf32>) -> (tensor<1xf32>, tensor<1x100xf32>) {
  %e = tensor.empty() : tensor<1x100xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<1x100xf32>) outs(%e : tensor<1x100xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 32], vectorize = 1>} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %a : f32
    linalg.yield %v : f32
  } -> tensor<1x100xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%q : tensor<1x100xf32>) outs(%init : tensor<1xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 32], vectorize = 1>} {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  } -> tensor<1xf32>
  func.return %r, %q : tensor<1xf32>, tensor<1x100xf32>
}
