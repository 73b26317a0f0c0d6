// RUN: stepwell-opt %s -p expand-forms | filecheck %s

// One block of 4 x 4 tiles: threads share its channels.
// CHECK-LABEL: @few
// CHECK-SAME: (%[[X:.*]]: tensor<1x2x14x14x16xf32>, %[[U:.*]]: tensor<36x1x32x32xf32>)
// CHECK-DAG: %[[BORDER:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK: %[[V:.*]] = scf.for {{.*}} -> (tensor<36x2x16x16xf32>)
// CHECK: scf.for %{{.*}} = %c0 to %c16
// CHECK: arith.divui %[[NUMBER:.*]], %c4
// CHECK: arith.remui %[[NUMBER]], %c4
// The first row and column of a tile may lie in front of the image: 0 is read there.
// CHECK: arith.cmpi sge
// CHECK: %[[READ:.*]] = vector.transfer_read %[[X]]
// CHECK: arith.select %{{.*}}, %[[READ]], %[[BORDER]] : vector<16xf32>
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
func.func private @few(%x: tensor<1x2x14x14x16xf32>, %u: tensor<36x1x32x32xf32>) -> tensor<1x2x14x14x16xf32> {
  %e = tensor.empty() : tensor<1x2x14x14x16xf32>
  %y = linalg_ext.winograd_conv %x, %u into %e tile 4 pads [1, 1, 1, 1] : (tensor<1x2x14x14x16xf32>, tensor<36x1x32x32xf32>, tensor<1x2x14x14x16xf32>) -> tensor<1x2x14x14x16xf32>
  func.return %y : tensor<1x2x14x14x16xf32>
}

// Images of any size: threads share eight groups of blocks of 48 tiles, the last of an image has fewer.
// CHECK-LABEL: @open
// CHECK: arith.ceildivsi %H,
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c1
// CHECK: %[[STOP:.*]] = arith.minsi
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[STOP]]
// CHECK: %[[TILES:.*]] = arith.minsi %{{.*}}, %c48
// CHECK: scf.for %{{.*}} = %c0 to %[[TILES]] {{.*}} -> (tensor<36x1x48x16xf32>)
// CHECK: arith.cmpi slt, %{{.*}}, %H
// CHECK: linalg.generic {{.*}} tensor<36x1x48x16xf32>
// CHECK: vector.transfer_write {{.*}} tensor<1x1x?x20x16xf32>
// CHECK: sched.parallel
func.func private @open(%x: tensor<1x1x?x20x16xf32> {graph.dims = #graph.dims<[1, 1, "H", 20, 16]>}, %u: tensor<36x1x16x16xf32>, %H: index) -> tensor<1x1x?x20x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1, symbols = ["H"]>} {
  %e = tensor.empty(%H) : tensor<1x1x?x20x16xf32>
  %y = linalg_ext.winograd_conv %x, %u into %e tile 4 pads [1, 1, 1, 1] : (tensor<1x1x?x20x16xf32>, tensor<36x1x16x16xf32>, tensor<1x1x?x20x16xf32>) -> tensor<1x1x?x20x16xf32>
  func.return %y : tensor<1x1x?x20x16xf32>
}

// Sizes of a schedule: two groups for threads, of blocks of five tiles, the last of which has one.
// CHECK-LABEL: @edited
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c1
// CHECK: scf.for %{{.*}} -> (tensor<36x2x5x16xf32>)
// CHECK: linalg.generic {{.*}} tensor<36x2x5x16xf32>
// CHECK: } {sched.parallel}
func.func private @edited(%x: tensor<1x2x14x14x16xf32>, %u: tensor<36x1x32x32xf32>) -> tensor<1x2x14x14x16xf32> {
  %e = tensor.empty() : tensor<1x2x14x14x16xf32>
  %y = linalg_ext.winograd_conv %x, %u into %e tile 4 pads [1, 1, 1, 1] {sched.schedule = #sched.schedule<form = "blocks", sizes = {tiles = 5, groups = 2}>} : (tensor<1x2x14x14x16xf32>, tensor<36x1x32x32xf32>, tensor<1x2x14x14x16xf32>) -> tensor<1x2x14x14x16xf32>
  func.return %y : tensor<1x2x14x14x16xf32>
}

// Many products of each transformed element: a loop over columns, then one over rows, with memory between.
// CHECK-LABEL: @looped
// CHECK: scf.for %[[C:.*]] = %c0 to %c6 step %c1 iter_args(%[[W:.*]] = %{{.*}}) -> (tensor<6x6x16xf32>)
// CHECK: %[[INSIDE:.*]] = vector.broadcast %{{.*}} : i1 to vector<16xi1>
// CHECK: arith.select %[[INSIDE]], %{{.*}} : vector<16xi1>, vector<16xf32>
// CHECK: vector.transfer_write %{{.*}}, %[[W]][%c0, %[[C]], %c0]
// CHECK: scf.for %[[R:.*]] = %c0 to %c6 step %c1 {{.*}} -> (tensor<36x8x16x16xf32>)
// CHECK: arith.subi %c5, %[[R]]
// CHECK: vector.transfer_write {{.*}} tensor<36x8x16x16xf32>
// CHECK: linalg.generic
// CHECK: scf.for %{{.*}} = %c0 to %c6 step %c1 {{.*}} -> (tensor<4x6x16xf32>)
// CHECK: scf.for %[[R:.*]] = %c0 to %c4 step %c1 {{.*}} -> (tensor<1x8x14x14x16xf32>)
// The last row of a tile first: results beyond the end are overwritten.
// CHECK: arith.subi %c3, %[[R]]
// CHECK-COUNT-4: vector.transfer_write {{.*}} tensor<1x8x14x14x16xf32>
// CHECK-NOT: vector.transfer_write
func.func private @looped(%x: tensor<1x8x14x14x16xf32>, %u: tensor<36x4x128x32xf32>) -> tensor<1x8x14x14x16xf32> {
  %e = tensor.empty() : tensor<1x8x14x14x16xf32>
  %y = linalg_ext.winograd_conv %x, %u into %e tile 4 pads [1, 1, 1, 1] : (tensor<1x8x14x14x16xf32>, tensor<36x4x128x32xf32>, tensor<1x8x14x14x16xf32>) -> tensor<1x8x14x14x16xf32>
  func.return %y : tensor<1x8x14x14x16xf32>
}

// Pairs of bf16: transformed tiles are rounded, neighbouring channels packed, and two products added at once.
// CHECK-LABEL: @pairs
// CHECK: arith.pack_bfloats %{{.*}} : vector<16xf32> -> vector<8xi32>
// CHECK-NEXT: vector.transfer_write {{.*}} : vector<8xi32>, tensor<16x2x16x8xi32>
// CHECK: linalg.generic {{.*}} tensor<16x2x16x8xi32>, tensor<16x1x2x8x32xi32>
// CHECK: arith.dot_bfloats
func.func private @pairs(%x: tensor<1x2x8x8x16xf32>, %u: tensor<16x1x16x32xi32>) -> tensor<1x2x8x8x16xf32> {
  %e = tensor.empty() : tensor<1x2x8x8x16xf32>
  %y = linalg_ext.winograd_conv %x, %u into %e tile 2 pads [1, 1, 1, 1] : (tensor<1x2x8x8x16xf32>, tensor<16x1x16x32xi32>, tensor<1x2x8x8x16xf32>) -> tensor<1x2x8x8x16xf32>
  func.return %y : tensor<1x2x8x8x16xf32>
}
