// RUN: stepwell-opt %s -p fuse-ops,convert-graph-to-linalg --split-input-file | filecheck %s

// A transpose reads through a permuted map.
// CHECK-LABEL: func.func private @k0
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2, d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
func.func @transpose(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %y = graph.transpose %x perm [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  func.return %y : tensor<4x2x3xf32>
}

// -----

// Pieces stand one behind the other; offsets follow from the symbols.
// CHECK-LABEL: func.func private @k0
// CHECK-SAME: %[[N:.*]]: index
// CHECK: tensor.insert_slice %x{{.*}}[0, 0] [%{{.*}}, 3] [1, 1]
// CHECK: tensor.insert_slice %y{{.*}}[%{{.*}}, 0] [2, 3] [1, 1]
func.func @concat(%x: tensor<?x3xf32, #graph.dims<["N", 3]>>, %y: tensor<2x3xf32>) -> tensor<?x3xf32, #graph.dims<["N + 2", 3]>> {
  %z = graph.concat %x, %y axis 0 : (tensor<?x3xf32, #graph.dims<["N", 3]>>, tensor<2x3xf32>) -> tensor<?x3xf32, #graph.dims<["N + 2", 3]>>
  func.return %z : tensor<?x3xf32, #graph.dims<["N + 2", 3]>>
}

// -----

// A slice that is read is a view; one that is returned is a copy.
// CHECK-LABEL: func.func private @k0
// CHECK: %[[S:.*]] = tensor.extract_slice %{{.*}}[2] [2] [3]
// CHECK: %[[E:.*]] = linalg.generic {{.*}} ins(%[[S]]
// CHECK: math.exp
// CHECK: func.return %[[E]]
// CHECK-LABEL: func.func private @k1
// CHECK: %[[S:.*]] = tensor.extract_slice
// CHECK: %[[C:.*]] = linalg.generic {{.*}} ins(%[[S]]
// CHECK: func.return %[[C]]
func.func @slices(%x: tensor<9xf32>) -> (tensor<2xf32>, tensor<4xf32>) {
  %a = graph.slice %x starts <[2]> limits <[8]> steps [3] : tensor<9xf32> -> tensor<2xf32>
  %b = graph.exp %a : tensor<2xf32> -> tensor<2xf32>
  %c = graph.slice %x starts <[0]> limits <[4]> steps [1] : tensor<9xf32> -> tensor<4xf32>
  func.return %b, %c : tensor<2xf32>, tensor<4xf32>
}

// -----

// A negative step reads at computed places.
// CHECK-LABEL: func.func private @k0
// CHECK: linalg.index 0
// CHECK: %[[V:.*]] = tensor.extract
// CHECK-NEXT: linalg.yield %[[V]]
func.func @backwards(%x: tensor<9xf32>) -> tensor<9xf32> {
  %a = graph.slice %x starts <[8]> limits <[-1]> steps [-1] : tensor<9xf32> -> tensor<9xf32>
  func.return %a : tensor<9xf32>
}

// -----

// Constant padding is a filled tensor with the operand inside; what crops is cut off first.
// CHECK-LABEL: func.func private @k0
// CHECK: %[[C:.*]] = tensor.extract_slice %{{.*}}[1] [5] [1]
// CHECK: %[[F:.*]] = linalg.fill
// CHECK: tensor.insert_slice %[[C]] into %[[F]][0] [5] [1]
func.func @pad(%x: tensor<6xf32>) -> tensor<8xf32> {
  %a = graph.pad %x pads <[-1, 3]> mode "constant" : tensor<6xf32> -> tensor<8xf32>
  func.return %a : tensor<8xf32>
}

// -----

// Other modes copy the tensor; around it they read at places from a table, for the padded axis only.
// CHECK-LABEL: func.func private @k0
// CHECK: %[[I:.*]] = tensor.insert_slice %x into %{{.*}}[0, 2] [4, 6] [1, 1]
// CHECK: %[[T:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<2xi64>)
// CHECK: %[[L:.*]] = linalg.generic {{.*}} ins(%[[T]] : tensor<2xi64>) outs(%{{.*}} : tensor<4x2xf32>)
// CHECK: tensor.extract %{{.*}}[%{{.*}}, %{{.*}}] : tensor<4x6xf32>
// CHECK: %[[J:.*]] = tensor.insert_slice %[[L]] into %[[I]][0, 0] [4, 2] [1, 1]
// CHECK: tensor.insert_slice %{{.*}} into %[[J]][0, 8] [4, 2] [1, 1]
func.func @mirror(%x: tensor<4x6xf32>) -> tensor<4x10xf32> {
  %a = graph.pad %x pads <[0, 2, 0, 2]> mode "reflect" : tensor<4x6xf32> -> tensor<4x10xf32>
  func.return %a : tensor<4x10xf32>
}

// -----

// Repeats are a broadcast, the pairs of dimensions joined; a resize that keeps its sizes is a copy.
// CHECK-LABEL: func.func private @k0
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x3x4xf32>)
// CHECK: tensor.collapse_shape %{{.*}} [{{\[}}0 : i64, 1 : i64], [2 : i64]] : tensor<2x3x4xf32> into tensor<6x4xf32>
// CHECK-LABEL: func.func private @k1
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<3x4xf32>)
func.func @repeats(%x: tensor<3x4xf32>) -> (tensor<6x4xf32>, tensor<3x4xf32>) {
  %a = graph.tile %x repeats <[2, 1]> : tensor<3x4xf32> -> tensor<6x4xf32>
  %b = graph.resize %x shape <[3, 4]> mode "nearest" coordinate "half_pixel" nearest "round_prefer_floor" cubic_a 0.0 extrapolation 0.0 : tensor<3x4xf32> -> tensor<3x4xf32>
  func.return %a, %b : tensor<6x4xf32>, tensor<3x4xf32>
}

// -----

// A resize of unsigned elements, which are stored without their sign.
// CHECK-LABEL: func.func private @k0
// CHECK: %[[E:.*]] = tensor.empty() : tensor<7x6xi8>
// CHECK: linalg_ext.resize %x into %[[E]] of ui8 mode "linear" coordinate "align_corners"
func.func @linear(%x: tensor<4x6xui8>) -> tensor<7x6xui8> {
  %a = graph.resize %x shape <[7, 6]> mode "linear" coordinate "align_corners" nearest "floor" cubic_a 0.0 extrapolation 0.0 : tensor<4x6xui8> -> tensor<7x6xui8>
  func.return %a : tensor<7x6xui8>
}

// -----

// A dimension of 1 is repeated in place: lanes run along it.
// CHECK-LABEL: func.func private @k0
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME: outs(%{{.*}} : tensor<3x8xf32>)
// CHECK-NOT: collapse_shape
func.func @repeated_column(%x: tensor<3x1xf32>) -> tensor<3x8xf32> {
  %a = graph.tile %x repeats <[1, 8]> : tensor<3x1xf32> -> tensor<3x8xf32>
  func.return %a : tensor<3x8xf32>
}

// -----

// With a step down along an axis that is not the last, whole layers are copied, the first one from the end.
// CHECK-LABEL: func.func private @k0
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[Y:.*]] = %{{.*}}) -> (tensor<3x4xf32>)
// CHECK: %[[MOVED:.*]] = arith.muli %[[I]], %{{.*}} : index
// CHECK: %[[AT:.*]] = arith.subi %{{.*}}, %[[MOVED]] : index
// CHECK: tensor.extract_slice %{{.*}}[%[[AT]], 0] [1, 4] [1, 1]
// CHECK: tensor.insert_slice %{{.*}} into %[[Y]][%[[I]], 0] [1, 4] [1, 1]
// CHECK: {sched.parallel}
func.func @layers_back(%x: tensor<6x8xf32>) -> tensor<3x4xf32> {
  %a = graph.slice %x starts <[5, 1]> limits <[-1, 8]> steps [-2, 2] : tensor<6x8xf32> -> tensor<3x4xf32>
  func.return %a : tensor<3x4xf32>
}
