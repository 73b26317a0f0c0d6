// RUN: stepwell-opt %s -p tile-to-grid | filecheck %s

// A block of 4 x 8 elements: 32 threads, tiles in memory of the block, the fill and the ReLU inside.
// CHECK-LABEL: @product
// CHECK-NOT: linalg
// CHECK: scf.parallel
// CHECK: %x_tile = memref.alloc() : memref<8x4xf32, #gpu.address_space<workgroup>>
// CHECK: %y_tile = memref.alloc() : memref<8x8xf32, #gpu.address_space<workgroup>>
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %x_tile
// CHECK: memref.store %{{.*}}, %y_tile
// CHECK: scf.for
// CHECK: math.fma
// CHECK: sched.stages = 2 : i64
// CHECK: arith.maximumf
// CHECK: memref.store %{{.*}}, %z
// CHECK-NOT: linalg
func.func @product(%x: memref<5x9xf32>, %y: memref<9x6xf32>, %z: memref<5x6xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%z : memref<5x6xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
      affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : memref<5x9xf32>, memref<9x6xf32>) outs(%z : memref<5x6xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [4, 8, 8], bind = "block">,
        <tile = [1, 1, 0], bind = "thread">], stage = [0, 1], stages = 2>} {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %c = arith.mulf %a, %b : f32
    %d = arith.addf %sum, %c : f32
    linalg.yield %d : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      outs(%z : memref<5x6xf32>) {
  ^bb0(%a: f32):
    %b = arith.maximumf %a, %zero : f32
    linalg.yield %b : f32
  }
  func.return
}

// A block of 32 threads a row; the square root of a total is computed once, and the division uses it.
// CHECK-LABEL: @rows
// CHECK-NOT: linalg
// CHECK: gpu.all_reduce add %{{.*}} {} : (f32) -> f32
// CHECK: math.sqrt
// CHECK: scf.for
// CHECK: arith.divf
// CHECK-NOT: linalg
func.func @rows(%x: memref<3x40xf32>, %t: memref<3xf32>, %z: memref<3x40xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : memref<3x40xf32>) outs(%t : memref<3xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 32], bind = "block">,
        <tile = [0, 1], bind = "thread">]>} {
  ^bb0(%a: f32, %sum: f32):
    %b = arith.mulf %a, %a : f32
    %c = arith.addf %sum, %b : f32
    linalg.yield %c : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%t : memref<3xf32>) {
  ^bb0(%a: f32):
    %b = math.sqrt %a : f32
    linalg.yield %b : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %t : memref<3x40xf32>, memref<3xf32>) outs(%z : memref<3x40xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.divf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// A warp multiplies fragments of 16 x 8, three times each; rows of memory are padded to 24 elements.
// CHECK-LABEL: @fragments
// CHECK: memref.alloc() : memref<8x24xf32, #gpu.address_space<workgroup>>
// CHECK: memref.alloc() : memref<8x24xf32, #gpu.address_space<workgroup>>
// CHECK: gpu.to_tf32
// CHECK: [[A:%[0-9]+]], %{{.*}} = gpu.mma_sync "m16n8k8.tf32"
// CHECK: [[B:%[0-9]+]], %{{.*}} = gpu.mma_sync "m16n8k8.tf32" {{.*}} c([[A]],
// CHECK: gpu.mma_sync "m16n8k8.tf32" {{.*}} c([[B]],
// CHECK-NOT: gpu.mma_sync
// CHECK-COUNT-4: arith.addf
func.func @fragments(%x: memref<16x9xf32>, %y: memref<9x16xf32>, %z: memref<16x16xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
      affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : memref<16x9xf32>, memref<9x16xf32>) outs(%z : memref<16x16xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [16, 16, 8], bind = "block">,
        <tile = [16, 8, 0], bind = "warp">], stage = [0, 1], intrinsic = "m16n8k8.tf32", split = 3>} {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %c = arith.mulf %a, %b : f32
    %d = arith.addf %sum, %c : f32
    linalg.yield %d : f32
  }
  func.return
}

// Two warps: `expand-all-reduce` adds up the parts of each by exchanges, then their totals.
// CHECK-LABEL: @warps
// CHECK: gpu.all_reduce add %{{.*}} {} : (f32) -> f32
func.func @warps(%x: memref<3x100xf32>, %t: memref<3xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : memref<3x100xf32>) outs(%t : memref<3xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 64], bind = "block">,
        <tile = [0, 32], bind = "warp">], intrinsic = "shuffle">} {
  ^bb0(%a: f32, %sum: f32):
    %c = arith.addf %sum, %a : f32
    linalg.yield %c : f32
  }
  func.return
}

// Each subgroup adds its parts up by one op; their totals, as many as the device has, are added in order.
// CHECK-LABEL: @subgroups
// CHECK: [[TOTAL:%[0-9]+]] = gpu.subgroup_reduce maxsi %{{.*}} : (i32) -> i32
// CHECK: %parts = memref.alloc() : memref<16xi32, #gpu.address_space<workgroup>>
// CHECK: gpu.lane_id
// CHECK: scf.if
// CHECK: [[SUBGROUP:%[0-9]+]] = gpu.subgroup_id : index
// CHECK: memref.store [[TOTAL]], %parts[[[SUBGROUP]]]
// CHECK: gpu.subgroup_size : index
// CHECK: arith.ceildivsi
// CHECK: scf.for
// CHECK: memref.load %parts
// CHECK: arith.maxsi
func.func @subgroups(%x: memref<3x100xi32>, %t: memref<3xi32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : memref<3x100xi32>) outs(%t : memref<3xi32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 64], bind = "block">,
        <tile = [0, 32], bind = "warp">], intrinsic = "subgroup">} {
  ^bb0(%a: i32, %most: i32):
    %c = arith.maxsi %most, %a : i32
    linalg.yield %c : i32
  }
  func.return
}

// No op of subgroups has 64 bits: totals are added up in memory of the block.
// CHECK-LABEL: @wide
// CHECK-NOT: gpu.subgroup_reduce
// CHECK: gpu.all_reduce add %{{.*}} {} : (i64) -> i64
func.func @wide(%x: memref<3x100xi64>, %t: memref<3xi64>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : memref<3x100xi64>) outs(%t : memref<3xi64>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 64], bind = "block">,
        <tile = [0, 32], bind = "warp">], intrinsic = "subgroup">} {
  ^bb0(%a: i64, %sum: i64):
    %c = arith.addi %sum, %a : i64
    linalg.yield %c : i64
  }
  func.return
}

// The second op reads elements of other threads: it is left for a grid of its own.
// CHECK-LABEL: @another_thread
// CHECK: scf.parallel
// CHECK: linalg.generic
func.func @another_thread(%x: memref<8x8xf32>, %y: memref<8x8xf32>, %z: memref<8x8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<8x8xf32>) outs(%y : memref<8x8xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 32], bind = "block">,
        <tile = [0, 1], bind = "thread">]>} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%y, %y : memref<8x8xf32>, memref<8x8xf32>) outs(%z : memref<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.addf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// Nor is an op in the grid that changes what the first one reads at indices from memory.
// CHECK-LABEL: @gathered
// CHECK: scf.parallel
// CHECK: linalg.generic
func.func @gathered(%x: memref<64xf32>, %at: memref<64xindex>, %y: memref<64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%at : memref<64xindex>) outs(%y : memref<64xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [32], bind = "block">,
        <tile = [1], bind = "thread">]>} {
  ^bb0(%a: index, %b: f32):
    %c = memref.load %x[%a] : memref<64xf32>
    linalg.yield %c : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%y : memref<64xf32>) outs(%x : memref<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  }
  func.return
}

// Nor what an op before it reads transposed: the third op is left.
// CHECK-LABEL: @transposed
// CHECK: scf.parallel
// CHECK: linalg.generic
func.func @transposed(%x: memref<8x8xf32>, %y: memref<8x8xf32>, %z: memref<8x8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<8x8xf32>) outs(%y : memref<8x8xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 32], bind = "block">,
        <tile = [0, 1], bind = "thread">]>} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%y, %x : memref<8x8xf32>, memref<8x8xf32>) outs(%z : memref<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.addf %a, %b : f32
    linalg.yield %d : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%z : memref<8x8xf32>) outs(%x : memref<8x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    linalg.yield %c : f32
  }
  func.return
}

// Nor a row's element that other threads of the block may still have to read: the third op is left.
// CHECK-LABEL: @row_element
// CHECK: scf.parallel
// CHECK: linalg.generic
// CHECK: arith.subf
func.func @row_element(%x: memref<3x40xf32>, %r: memref<3xf32>, %t: memref<3xf32>, %z: memref<3x40xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : memref<3x40xf32>) outs(%t : memref<3xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 64], bind = "block">,
        <tile = [0, 1], bind = "thread">]>} {
  ^bb0(%a: f32, %sum: f32):
    %c = arith.addf %sum, %a : f32
    linalg.yield %c : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
      affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %t, %r : memref<3x40xf32>, memref<3xf32>, memref<3xf32>) outs(%z : memref<3x40xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %e = arith.divf %a, %b : f32
    %f = arith.addf %e, %c : f32
    linalg.yield %f : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%t : memref<3xf32>) outs(%r : memref<3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.subf %b, %a : f32
    linalg.yield %c : f32
  }
  func.return
}

// Two parts of the sums: blocks add up 8 each, zeros beyond the ninth; a second grid adds the parts to the start,
// in their order, and computes the ReLU.
// CHECK-LABEL: @parts
// CHECK: %partial_sums = memref.alloca() : memref<2x5x6xf32>
// CHECK: "scf.parallel"(%c0, %c4, %c1)
// CHECK: %[[PART:.*]] = arith.divui %block, %c2 : index
// CHECK: %[[FIRST:.*]] = arith.muli %[[PART]], %c8 : index
// CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %c8 : index
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[END]] step %c8
// CHECK: memref.store %{{.*}}, %partial_sums[%[[PART]],
// CHECK: "scf.parallel"
// CHECK: scf.for %[[P:.*]] = %{{.*}} to %c2 step %{{.*}} iter_args(%[[SUM:.*]] = %zero)
// CHECK: %[[V:.*]] = memref.load %partial_sums[%[[P]],
// CHECK: arith.addf %[[SUM]], %[[V]] : f32
// CHECK: arith.maximumf
// CHECK: memref.store %{{.*}}, %z
func.func @parts(%x: memref<5x9xf32>, %y: memref<9x6xf32>, %z: memref<5x6xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%z : memref<5x6xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
      affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : memref<5x9xf32>, memref<9x6xf32>) outs(%z : memref<5x6xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [4, 8, 8], bind = "block">,
        <tile = [1, 1, 0], bind = "thread">], stage = [0, 1], stages = 2, split_k = 2>} {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %c = arith.mulf %a, %b : f32
    %d = arith.addf %sum, %c : f32
    linalg.yield %d : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      outs(%z : memref<5x6xf32>) {
  ^bb0(%a: f32):
    %r = arith.maximumf %a, %zero : f32
    linalg.yield %r : f32
  }
  func.return
}

// Rows that are not known: so are those of the partial sums.
// CHECK-LABEL: @open_parts
// CHECK: %[[ROWS:.*]] = memref.dim %z, %c0
// CHECK: %partial_sums = memref.alloca(%[[ROWS]]) : memref<3x?x6xf32>
// CHECK: memref.store %{{.*}}, %partial_sums[
// CHECK: memref.load %z[
// CHECK: memref.load %partial_sums[
func.func @open_parts(%x: memref<?x24xf32>, %y: memref<24x6xf32>, %z: memref<?x6xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
      affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : memref<?x24xf32>, memref<24x6xf32>) outs(%z : memref<?x6xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [4, 8, 8], bind = "block">,
        <tile = [1, 1, 0], bind = "thread">], stage = [0, 1], split_k = 3>} {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %c = arith.mulf %a, %b : f32
    %d = arith.addf %sum, %c : f32
    linalg.yield %d : f32
  }
  func.return
}

// The counts of ops that share a grid are before it, that of another op stays with this.
// CHECK-LABEL: @counted
// CHECK: "gpu.work"(%n)
// CHECK-NEXT: "gpu.work"(%m)
// CHECK: scf.parallel
// CHECK: "gpu.work"(%k)
// CHECK: scf.parallel
func.func @counted(%x: memref<256xf32>, %y: memref<256xf32>, %z: memref<256xf32>, %other: memref<64xf32>,
    %n: index, %m: index, %k: index) {
  "gpu.work"(%n) : (index) -> ()
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%x : memref<256xf32>) outs(%y : memref<256xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [64], bind = "block">,
        <tile = [1], bind = "thread">]>} {
  ^bb0(%a: f32, %old: f32):
    %b = arith.addf %a, %a : f32
    linalg.yield %b : f32
  }
  "gpu.work"(%m) : (index) -> ()
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%y : memref<256xf32>) outs(%z : memref<256xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [64], bind = "block">,
        <tile = [1], bind = "thread">]>} {
  ^bb0(%a: f32, %old: f32):
    %b = arith.mulf %a, %a : f32
    linalg.yield %b : f32
  }
  "gpu.work"(%k) : (index) -> ()
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%other : memref<64xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [64], bind = "block">,
        <tile = [1], bind = "thread">]>} {
  ^bb0(%a: f32):
    %b = arith.addf %a, %a : f32
    linalg.yield %b : f32
  }
  func.return
}

// Squares of 8 x 8: 64 threads load rows of the operand, and store rows of the output; others exist by guards.
// CHECK-LABEL: @transpose
// CHECK-NOT: linalg
// CHECK: %x_tile = memref.alloc() : memref<8x9xf32, #gpu.address_space<workgroup>>
// CHECK: scf.if
// CHECK: memref.load %x
// CHECK: memref.store %{{.*}}, %x_tile
// CHECK: scf.if
// CHECK: memref.load %x_tile
// CHECK: memref.store %{{.*}}, %z
// CHECK-NOT: scf.if
func.func @transpose(%x: memref<20x30xf32>, %z: memref<30x20xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<20x30xf32>) outs(%z : memref<30x20xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [8, 8], bind = "block">,
        <tile = [1, 1], bind = "thread">], stage = [0]>} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  func.return
}

// A thread has four neighbours: both arrays are loaded and stored at once by flat views, the row too, since its
// length is a multiple of four. 100 threads of 4 blocks have elements.
// CHECK-LABEL: @vectors
// CHECK: "scf.parallel"(%c0, %c4, %c1)
// CHECK: %[[B:.*]] = arith.muli %block, %c128 : index
// CHECK: %[[T:.*]] = arith.muli %thread, %c4 : index
// CHECK: %[[N:.*]] = arith.addi %[[B]], %[[T]] : index
// CHECK: arith.cmpi ult, %[[N]], %c400 : index
// CHECK: scf.if
// CHECK: %[[X:.*]] = memref.collapse_shape %x
// CHECK: vector.load %[[X]][%[[N]]] {alignment = 16 : i64} : memref<400xf32>, vector<4xf32>
// CHECK: vector.load %b[%{{.*}}] {alignment = 16 : i64} : memref<40xf32>, vector<4xf32>
// CHECK-COUNT-4: arith.addf
// CHECK-NOT: memref.load
// CHECK: vector.store %{{.*}}, %{{.*}}[%[[N]]] {alignment = 16 : i64} : memref<400xf32>, vector<4xf32>
func.func @vectors(%x: memref<10x40xf32>, %b: memref<40xf32>, %z: memref<10x40xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : memref<10x40xf32>, memref<40xf32>) outs(%z : memref<10x40xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 128], bind = "block">,
        <tile = [0, 4], bind = "thread">], vectorize = 1>} {
  ^bb0(%p: f32, %q: f32, %old: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  }
  func.return
}

// A size that is not known: whole vectors, and the rest one after the other.
// CHECK-LABEL: @open_vectors
// CHECK: %[[N:.*]] = memref.dim %x, %c0
// CHECK: %[[END:.*]] = arith.addi %{{.*}}, %c8 : index
// CHECK: arith.cmpi ule, %[[END]], %[[N]] : index
// CHECK: scf.if
// CHECK: vector.load %x[%{{.*}}] {alignment = 16 : i64} : memref<?xf16>, vector<8xf16>
// CHECK: vector.store
// CHECK: } else {
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c1
// CHECK: scf.if
// CHECK: memref.load %x
// CHECK: memref.store
func.func @open_vectors(%x: memref<?xf16>, %z: memref<?xf16>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : memref<?xf16>) outs(%z : memref<?xf16>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [256], bind = "block">,
        <tile = [8], bind = "thread">], vectorize = 0>} {
  ^bb0(%p: f16, %old: f16):
    %s = arith.addf %p, %p : f16
    linalg.yield %s : f16
  }
  func.return
}

// A depthwise convolution: a thread has four outputs of a row. In each row of the window it loads six elements and
// three of the filter; the fill and the ReLU are inside.
// CHECK-LABEL: @depthwise
// CHECK-NOT: linalg
// CHECK: "scf.parallel"
// CHECK: scf.for %{{.*}} = %c0 to %c3 {{.*}} iter_args(%{{.*}} = %zero, %{{.*}} = %zero, %{{.*}} = %zero, %{{.*}} = %zero)
// CHECK-COUNT-9: memref.load
// CHECK-NOT: memref.load
// CHECK-COUNT-4: arith.maximumf
// CHECK-NOT: linalg
func.func @depthwise(%x: memref<1x2x18x18xf32>, %w: memref<2x3x3xf32>, %z: memref<1x2x16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%z : memref<1x2x16x16xf32>)
  linalg.generic {indexing_maps = [affine_map<(n, c, h, w, p, q) -> (n, c, h + p, w + q)>,
      affine_map<(n, c, h, w, p, q) -> (c, p, q)>, affine_map<(n, c, h, w, p, q) -> (n, c, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : memref<1x2x18x18xf32>, memref<2x3x3xf32>) outs(%z : memref<1x2x16x16xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 0, 0, 128, 0, 0], bind = "block">,
        <tile = [0, 0, 0, 4, 0, 0], bind = "thread">]>} {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %c = arith.mulf %a, %b : f32
    %d = arith.addf %sum, %c : f32
    linalg.yield %d : f32
  }
  linalg.generic {indexing_maps = [affine_map<(n, c, h, w) -> (n, c, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%z : memref<1x2x16x16xf32>) {
  ^bb0(%a: f32):
    %b = arith.maximumf %a, %zero : f32
    linalg.yield %b : f32
  }
  func.return
}
