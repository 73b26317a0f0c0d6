// RUN: stepwell-opt %s -p convert-graph-to-linalg | filecheck %s

// 200 queries: 5 blocks of 40 a head; 25 blocks in 7 groups.
// CHECK-LABEL: func.func private @k0
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
func.func @static(%x: tensor<5x200x8xf32>, %y: tensor<5x30x8xf32>, %z: tensor<5x30x4xf32>) -> tensor<5x200x4xf32> {
  %r = graph.fused (%q = %x : tensor<5x200x8xf32>, %k = %y : tensor<5x30x8xf32>, %v = %z : tensor<5x30x4xf32>) -> (tensor<5x200x4xf32>) {
    %0 = graph.attention %q, %k, %v scale 0.5 : (tensor<5x200x8xf32>, tensor<5x30x8xf32>, tensor<5x30x4xf32>) -> tensor<5x200x4xf32>
    graph.yield %0 : tensor<5x200x4xf32>
  }
  func.return %r : tensor<5x200x4xf32>
}

// Open sizes: a last block of fewer queries, blocks of keys; one column of keys for all heads; a mask by query,
// turned.
// CHECK-LABEL: func.func private @k1
// CHECK: arith.minsi %c32
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<8x?xf32>)
// CHECK: scf.for %[[FIRST:.*]] = %c0 to %S step %c2048
// CHECK: %[[COUNT:.*]] = arith.minsi %c2048
// CHECK: tensor.extract_slice %k[%[[FIRST]], 0] [%[[COUNT]], 8] [1, 1]
// CHECK: tensor.extract_slice %m[%{{.*}}, %[[FIRST]]] [%{{.*}}, %[[COUNT]]] [1, 1]
func.func @open(%x: tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>, %y: tensor<?x8xf32, #graph.dims<["S", 8]>>, %z: tensor<?x?xf32, #graph.dims<["S", "S"]>>) -> tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>> {
  %r = graph.fused (%q = %x : tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>, %k = %y : tensor<?x8xf32, #graph.dims<["S", 8]>>, %m = %z : tensor<?x?xf32, #graph.dims<["S", "S"]>>) -> (tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>) {
    %0 = graph.attention %q, %k, %k mask %m : tensor<?x?xf32, #graph.dims<["S", "S"]>> scale 0.5 zero_masked true : (tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>, tensor<?x8xf32, #graph.dims<["S", 8]>>, tensor<?x8xf32, #graph.dims<["S", 8]>>) -> tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>
    graph.yield %0 : tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>
  }
  func.return %r : tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>
}

// The scores of 2100 keys pass the cache: blocks of 2048, what is summed scaled by how much the tops grew.
// CHECK-LABEL: func.func private @k2
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
func.func @many(%x: tensor<2x32x8xf32>, %y: tensor<2x2100x8xf32>, %z: tensor<2x2100x4xf32>, %w: tensor<2100xf32>) -> tensor<2x32x4xf32> {
  %r = graph.fused (%q = %x : tensor<2x32x8xf32>, %k = %y : tensor<2x2100x8xf32>, %v = %z : tensor<2x2100x4xf32>, %m = %w : tensor<2100xf32>) -> (tensor<2x32x4xf32>) {
    %0 = graph.attention %q, %k, %v mask %m : tensor<2100xf32> scale 0.5 : (tensor<2x32x8xf32>, tensor<2x2100x8xf32>, tensor<2x2100x4xf32>) -> tensor<2x32x4xf32>
    graph.yield %0 : tensor<2x32x4xf32>
  }
  func.return %r : tensor<2x32x4xf32>
}
