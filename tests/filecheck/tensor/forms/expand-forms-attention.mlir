// RUN: stepwell-opt %s -p expand-forms | filecheck %s

// 200 queries: 5 blocks of 40 a head; 25 blocks in 7 groups.
// CHECK-LABEL: @static
// CHECK: scf.for %[[GROUP:.*]] = %c0 to %c7 step %c1
// CHECK: scf.for %[[ITEM:.*]] =
// CHECK: %[[Q:.*]] = tensor.extract_slice %q[%{{.*}}, %{{.*}}, 0] [1, 40, 8] [1, 1, 1]
// CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%[[Q]] : tensor<1x40x8xf32>) outs(%{{.*}} : tensor<8x40xf32>)
// CHECK: %[[QT:.*]] = tensor.insert_slice %[[T]] into
// CHECK: %[[K:.*]] = tensor.extract_slice %k[%{{.*}}, 0, 0] [1, 30, 8] [1, 1, 1]
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[K]], %[[QT]] : tensor<1x30x8xf32>, tensor<8x40xf32>) outs(%{{.*}} : tensor<30x40xf32>)
// CHECK: %{{.*}} = scf.for %{{.*}} = %c0 to %c32 step %c16 iter_args(%{{.*}} = %[[S]]
// CHECK: arith.cmpf ogt, %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK-NEXT: arith.select
// CHECK: math.exp %{{.*}} {sched.not_positive} : vector<16xf32>
// CHECK: math.exp %{{.*}} {sched.not_positive} : vector<8xf32>
// CHECK: %[[ROWS:.*]] = tensor.extract_slice %{{.*}}[0, 0] [30, 40] [1, 1]
// CHECK: %[[O:.*]] = linalg.generic {{.*}} ins(%[[ROWS]], %{{.*}} : tensor<30x40xf32>, tensor<1x30x4xf32>) outs(%{{.*}} : tensor<40x4xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[O]], %{{.*}} : tensor<40x4xf32>, tensor<40xf32>) outs(%{{.*}} : tensor<1x40x4xf32>)
// CHECK: } {sched.parallel}
func.func private @static(%q: tensor<5x200x8xf32>, %k: tensor<5x30x8xf32>, %v: tensor<5x30x4xf32>) -> tensor<5x200x4xf32> {
  %e = tensor.empty() : tensor<5x200x4xf32>
  %y = linalg_ext.attention %q, %k, %v into %e scale 0.5 : (tensor<5x200x8xf32>, tensor<5x30x8xf32>, tensor<5x30x4xf32>, tensor<5x200x4xf32>) -> tensor<5x200x4xf32>
  func.return %y : tensor<5x200x4xf32>
}

// Open sizes: a last block of fewer queries, blocks of keys; one column of keys for all heads; a mask by query,
// turned.
// CHECK-LABEL: @open
// CHECK: arith.minsi %c32
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<8x?xf32>)
// CHECK: scf.for %[[FIRST:.*]] = %c0 to %S step %c2048
// CHECK: %[[COUNT:.*]] = arith.minsi %c2048
// CHECK: tensor.extract_slice %k[%[[FIRST]], 0] [%[[COUNT]], 8] [1, 1]
// CHECK: tensor.extract_slice %m[%{{.*}}, %[[FIRST]]] [%{{.*}}, %[[COUNT]]] [1, 1]
func.func private @open(%q: tensor<?x?x8xf32> {graph.dims = #graph.dims<["B", "S", 8]>}, %k: tensor<?x8xf32> {graph.dims = #graph.dims<["S", 8]>}, %m: tensor<?x?xf32> {graph.dims = #graph.dims<["S", "S"]>}, %B: index, %S: index) -> tensor<?x?x8xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1, symbols = ["B", "S"]>} {
  %e = tensor.empty(%B, %S) : tensor<?x?x8xf32>
  %y = linalg_ext.attention %q, %k, %k into %e mask %m scale 0.5 zero_masked : (tensor<?x?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x?x8xf32>, tensor<?x?xf32>) -> tensor<?x?x8xf32>
  func.return %y : tensor<?x?x8xf32>
}

// The scores of 2100 keys pass the cache: blocks of 2048, what is summed scaled by how much the tops grew.
// CHECK-LABEL: @many
// CHECK: %[[TOPS:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<32xf32>)
// CHECK: %[[TOTALS:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<32xf32>)
// CHECK: %[[SUMS:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<32x4xf32>)
// CHECK: %[[R:.*]], %{{.*}}, %{{.*}} = scf.for %[[FIRST:.*]] = %c0 to %c2100 step %c2048 iter_args(%[[SO_FAR:.*]] = %[[SUMS]], %[[TOP:.*]] = %[[TOPS]], %[[TOTAL:.*]] = %[[TOTALS]])
// CHECK: %[[COUNT:.*]] = arith.minsi %c2048
// CHECK: tensor.extract_slice %k[%{{.*}}, %[[FIRST]], 0] [1, %[[COUNT]], 8] [1, 1, 1]
// CHECK: tensor.extract_slice %m[%[[FIRST]]] [%[[COUNT]]] [1]
// CHECK: %[[P:.*]], %{{.*}}, %{{.*}}, %[[FACTORS:.*]] = scf.for %{{.*}} = %c0 to %c32 step %c16
// CHECK: %[[OLD:.*]] = vector.transfer_read %{{.*}} : tensor<32xf32>, vector<16xf32>
// CHECK: arith.cmpf oeq, %[[NEW:.*]], %{{.*}} : vector<16xf32>
// CHECK: %[[SHRINK:.*]] = arith.subf %[[OLD]], %{{.*}} : vector<16xf32>
// CHECK-NEXT: math.exp %[[SHRINK]]
// CHECK: %[[MORE:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<32x4xf32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[MORE]] : tensor<32xf32>, tensor<32x4xf32>) outs(%[[SO_FAR]] : tensor<32x4xf32>)
// CHECK: arith.divf
// CHECK: linalg.generic {{.*}} ins(%[[R]], %{{.*}} : tensor<32x4xf32>, tensor<32xf32>)
func.func private @many(%q: tensor<2x32x8xf32>, %k: tensor<2x2100x8xf32>, %v: tensor<2x2100x4xf32>, %m: tensor<2100xf32>) -> tensor<2x32x4xf32> {
  %e = tensor.empty() : tensor<2x32x4xf32>
  %y = linalg_ext.attention %q, %k, %v into %e mask %m scale 0.5 : (tensor<2x32x8xf32>, tensor<2x2100x8xf32>, tensor<2x2100x4xf32>, tensor<2x32x4xf32>, tensor<2100xf32>) -> tensor<2x32x4xf32>
  func.return %y : tensor<2x32x4xf32>
}

// Sizes of a schedule: blocks of 16 queries and 10 keys, three groups, two chains, all queries in one vector.
// CHECK-LABEL: @edited
// CHECK: scf.for %{{.*}} = %c0 to %c3 step %c1
// CHECK: tensor.extract_slice %q[%{{.*}}, %{{.*}}, 0] [1, 16, 8] [1, 1, 1]
// CHECK: scf.for %{{.*}} = %c0 to %c30 step %c10
// CHECK: scf.for %{{.*}} = %c0 to %c10 step %c2
// CHECK-NOT: vector<8xf32>
func.func private @edited(%q: tensor<5x200x8xf32>, %k: tensor<5x30x8xf32>, %v: tensor<5x30x4xf32>) -> tensor<5x200x4xf32> {
  %e = tensor.empty() : tensor<5x200x4xf32>
  %y = linalg_ext.attention %q, %k, %v into %e scale 0.5 {sched.schedule = #sched.schedule<form = "online-softmax", sizes = {queries = 16, keys = 10, groups = 3, chains = 2}>} : (tensor<5x200x8xf32>, tensor<5x30x8xf32>, tensor<5x30x4xf32>, tensor<5x200x4xf32>) -> tensor<5x200x4xf32>
  func.return %y : tensor<5x200x4xf32>
}

// Pairs along the sums: of the depth, and of 31 keys, the last of which is paired with zeros.
// CHECK-LABEL: @pairs
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<4x40xi32>)
// CHECK: arith.pair_bfloats %{{.*}}, %{{.*}} : f32 -> i32
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<31x4xi32>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<31x40xf32>)
// CHECK: arith.dot_bfloats
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<15x4xi32>)
// CHECK: tensor<1x4xi32>
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<40x4xf32>)
// CHECK: arith.dot_bfloats
func.func private @pairs(%q: tensor<5x40x8xf32>, %k: tensor<5x31x8xf32>, %v: tensor<5x31x4xf32>) -> tensor<5x40x4xf32> {
  %e = tensor.empty() : tensor<5x40x4xf32>
  %y = linalg_ext.attention %q, %k, %v into %e scale 0.5 pairs : (tensor<5x40x8xf32>, tensor<5x31x8xf32>, tensor<5x31x4xf32>, tensor<5x40x4xf32>) -> tensor<5x40x4xf32>
  func.return %y : tensor<5x40x4xf32>
}
