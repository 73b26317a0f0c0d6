// RUN: stepwell-opt %s -p convert-graph-to-linalg | filecheck %s

// Reads at sums of axes are operands with maps; an offset is a slice.
// CHECK-LABEL: func.func private @k0
// CHECK: %[[S:.*]] = tensor.extract_slice %x[2, 0] [8, %N] [1, 1] : tensor<12x?xf32> to tensor<8x?xf32>
// CHECK: %[[I:.*]] = tensor.empty(%N) : tensor<8x?xf32>
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%[[S]], %z : tensor<8x?xf32>, tensor<?xf32>) outs(%[[I]] : tensor<8x?xf32>) {
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[A]], %[[B]] : f32
// CHECK-NEXT: linalg.yield %[[Y]] : f32
func.func @maps(%x: tensor<12x?xf32, #graph.dims<[12, "N"]>>, %z: tensor<?xf32, #graph.dims<["N"]>>) -> tensor<8x?xf32, #graph.dims<[8, "N"]>> {
  %r = graph.fused (%x_1 = %x : tensor<12x?xf32, #graph.dims<[12, "N"]>>, %z_1 = %z : tensor<?xf32, #graph.dims<["N"]>>) -> (tensor<8x?xf32, #graph.dims<[8, "N"]>>) {
    %y = graph.expression "f" (%i < "8", %j < "n") reads (%a = %x_1 ["12", "n"], %b = %z_1 ["n"])
      : (tensor<12x?xf32, #graph.dims<[12, "N"]>>, tensor<?xf32, #graph.dims<["N"]>>) -> tensor<8x?xf32, #graph.dims<[8, "N"]>> {
      %c2 = arith.constant 2 : index
      %k = arith.addi %i, %c2 : index
      %0 = tensor.extract %a[%k, %j] : tensor<12x?xf32>
      %1 = tensor.extract %b[%j] : tensor<?xf32>
      %2 = arith.mulf %0, %1 : f32
      graph.yield %2 : f32
    }
    graph.yield %y : tensor<8x?xf32, #graph.dims<[8, "N"]>>
  }
  func.return %r : tensor<8x?xf32, #graph.dims<[8, "N"]>>
}

// A reduction starts from its identity; a window is a map of two axes, and an input gives the reduced extent.
// CHECK-LABEL: func.func private @k1
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[INIT:.*]] = linalg.fill ins(%[[ZERO]] : f32)
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (((d0 * 2) + d1))>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x, %z : tensor<9xf32>, tensor<3xf32>) outs(%[[INIT]] : tensor<4xf32>) {
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %{{.*}}: f32, %[[SUM:.*]]: f32):
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[SUM]], %[[A]] : f32
// CHECK-NEXT: linalg.yield %[[Y]] : f32
func.func @window(%x: tensor<9xf32>, %z: tensor<3xf32>) -> tensor<4xf32> {
  %r = graph.fused (%x_1 = %x : tensor<9xf32>, %z_1 = %z : tensor<3xf32>) -> (tensor<4xf32>) {
    %y = graph.expression "f" (%i < "4") reduce (%q < "k") reads (%a = %x_1 ["9"], %b = %z_1 ["k"])
      : (tensor<9xf32>, tensor<3xf32>) -> tensor<4xf32> {
      %c2 = arith.constant 2 : index
      %0 = arith.muli %i, %c2 : index
      %1 = arith.addi %0, %q : index
      %2 = tensor.extract %a[%1] : tensor<9xf32>
      graph.yield %2 : f32
    } combine [0.0 : f32] {
    ^bb0(%s: f32, %v: f32):
      %3 = arith.addf %s, %v : f32
      graph.yield %3 : f32
    }
    graph.yield %y : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// An index from data is a read in the body; a size is that of the kernel; two results are one op.
// CHECK-LABEL: func.func private @k2
// CHECK: linalg.generic {{.*}} ins(%at : tensor<?xi64>) outs(%{{.*}}, %{{.*}} : tensor<?xf32>, tensor<?xi64>) {
// CHECK-NEXT: ^bb0(%[[AT:.*]]: i64, %{{.*}}: f32, %{{.*}}: i64):
// CHECK: %[[P:.*]] = arith.index_cast %[[AT]] : i64 to index
// CHECK: %[[LAST:.*]] = arith.subi %M, %{{.*}} : index
// CHECK: %[[Q:.*]] = arith.minsi %[[P]], %[[LAST]] : index
// CHECK: %[[E:.*]] = tensor.extract %x[%[[Q]]] : tensor<?xf32>
// CHECK: linalg.yield %[[E]], %[[AT]] : f32, i64
func.func @gather(%x: tensor<?xf32, #graph.dims<["M"]>>, %at: tensor<?xi64, #graph.dims<["N"]>>) -> (tensor<?xf32, #graph.dims<["N"]>>, tensor<?xi64, #graph.dims<["N"]>>) {
  %r:2 = graph.fused (%x_1 = %x : tensor<?xf32, #graph.dims<["M"]>>, %at_1 = %at : tensor<?xi64, #graph.dims<["N"]>>) -> (tensor<?xf32, #graph.dims<["N"]>>, tensor<?xi64, #graph.dims<["N"]>>) {
    %y, %z = graph.expression "f" (%i < "n") reads (%a = %x_1 ["m"], %b = %at_1 ["n"])
      : (tensor<?xf32, #graph.dims<["M"]>>, tensor<?xi64, #graph.dims<["N"]>>) -> (tensor<?xf32, #graph.dims<["N"]>>, tensor<?xi64, #graph.dims<["N"]>>) {
      %0 = tensor.extract %b[%i] : tensor<?xi64>
      %1 = arith.index_cast %0 : i64 to index
      %c0 = arith.constant 0 : index
      %2 = tensor.dim %a, %c0 : tensor<?xf32>
      %c1 = arith.constant 1 : index
      %3 = arith.subi %2, %c1 : index
      %4 = arith.minsi %1, %3 : index
      %5 = tensor.extract %a[%4] : tensor<?xf32>
      graph.yield %5, %0 : f32, i64
    }
    graph.yield %y, %z : tensor<?xf32, #graph.dims<["N"]>>, tensor<?xi64, #graph.dims<["N"]>>
  }
  func.return %r#0, %r#1 : tensor<?xf32, #graph.dims<["N"]>>, tensor<?xi64, #graph.dims<["N"]>>
}
