// RUN: stepwell-opt %s -p 'convert-graph-to-linalg' | filecheck %s

// One block of 4 x 4 tiles: threads share its channels.
// CHECK-LABEL: func.func private @k0
// CHECK: %[[PADDED:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, 1, 1, 0] [1, 2, 14, 14, 16] {{.*}} into tensor<1x2x18x18x16xf32>
// CHECK: %[[V:.*]] = scf.for {{.*}} -> (tensor<36x2x16x16xf32>)
// CHECK: vector.transfer_read %[[PADDED]]
// CHECK: vector.fma
// CHECK: vector.transfer_write
// CHECK: sched.parallel
// The products: points, panels, tiles, lanes of a panel; summed over channels.
// CHECK: %[[M:.*]] = linalg.generic {{{.*}}(d0, d4, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5, d3)>
// CHECK-SAME: ins(%[[V]],
// CHECK: scf.for
// CHECK: vector.transfer_read %[[M]]
// What lies beyond the border is written on the last row or column, before these are.
// CHECK: arith.minsi
// CHECK: vector.transfer_write {{.*}} tensor<1x2x14x14x16xf32>
func.func @main(%x: tensor<1x2x14x14x16xf32>, %u: tensor<36x1x32x32xf32>) -> tensor<1x2x14x14x16xf32> {
  %0 = graph.fused (%a = %x : tensor<1x2x14x14x16xf32>, %b = %u : tensor<36x1x32x32xf32>) -> (tensor<1x2x14x14x16xf32>) {
    %y = graph.winograd_conv %a, %b tile 4 pads [1, 1, 1, 1] : (tensor<1x2x14x14x16xf32>, tensor<36x1x32x32xf32>) -> tensor<1x2x14x14x16xf32>
    graph.yield %y : tensor<1x2x14x14x16xf32>
  }
  func.return %0 : tensor<1x2x14x14x16xf32>
}
