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
// CHECK: math.exp %{{.*}} : vector<16xf32>
// CHECK: math.exp %{{.*}} : vector<8xf32>
// CHECK-NOT: oeq
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

// Open sizes: a last block of fewer queries; one column of keys for all heads; a mask by query, turned.
// CHECK-LABEL: func.func private @k1
// CHECK: arith.minsi %c32
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<8x?xf32>)
// CHECK: tensor.extract_slice %k[0, 0] [%S, 8] [1, 1]
// CHECK: tensor.extract_slice %m[%{{.*}}, 0] [%{{.*}}, %S] [1, 1]
// CHECK: arith.cmpf oeq, %{{.*}} : vector<16xf32>
// CHECK: arith.select
func.func @open(%x: tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>, %y: tensor<?x8xf32, #graph.dims<["S", 8]>>, %z: tensor<?x?xf32, #graph.dims<["S", "S"]>>) -> tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>> {
  %r = graph.fused (%q = %x : tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>, %k = %y : tensor<?x8xf32, #graph.dims<["S", 8]>>, %m = %z : tensor<?x?xf32, #graph.dims<["S", "S"]>>) -> (tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>) {
    %0 = graph.attention %q, %k, %k mask %m : tensor<?x?xf32, #graph.dims<["S", "S"]>> scale 0.5 zero_masked true : (tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>, tensor<?x8xf32, #graph.dims<["S", 8]>>, tensor<?x8xf32, #graph.dims<["S", 8]>>) -> tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>
    graph.yield %0 : tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>
  }
  func.return %r : tensor<?x?x8xf32, #graph.dims<["B", "S", 8]>>
}
