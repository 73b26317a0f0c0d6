// RUN: stepwell-opt %s -p convert-torch-to-graph | filecheck %s

// CHECK-LABEL: @views
// CHECK: graph.reshape %x shape <["N", 12]>
// CHECK: graph.slice %x starts <[0, 2, 0]> limits <["N", 3, 4]>
// CHECK: graph.slice %x starts <[0, 0, 1]> limits <["N", 3, 4]> steps [1, 1, 2]
// CHECK: graph.transpose %x perm [2, 0, 1]
func.func @views(%x: tensor<?x3x4xf32, #graph.dims<["N", 3, 4]>>) {
  %0 = "torch.aten.view.default"(%x) {size = ["N", -1 : i64]} : (tensor<?x3x4xf32, #graph.dims<["N", 3, 4]>>) -> tensor<?x12xf32, #graph.dims<["N", 12]>>
  %1 = "torch.aten.select.int"(%x) {dim = 1 : i64, index = -1 : i64} : (tensor<?x3x4xf32, #graph.dims<["N", 3, 4]>>) -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %2 = "torch.aten.slice.Tensor"(%x) {dim = 2 : i64, start = 1 : i64, end = 9223372036854775807 : i64, step = 2 : i64} : (tensor<?x3x4xf32, #graph.dims<["N", 3, 4]>>) -> tensor<?x3x2xf32, #graph.dims<["N", 3, 2]>>
  %3 = "torch.aten.permute.default"(%x) {dims = [-1 : i64, 0 : i64, 1 : i64]} : (tensor<?x3x4xf32, #graph.dims<["N", 3, 4]>>) -> tensor<4x?x3xf32, #graph.dims<[4, "N", 3]>>
  func.return
}
// Indices of neighbouring axes leave the result's dimensions where they are; others come first.
// CHECK-LABEL: @index
// CHECK: graph.gather %x, %i axis 1
// CHECK: %[[T:.*]] = graph.transpose %x perm [0, 2, 1]
// CHECK: %[[R:.*]] = graph.reshape %[[T]] shape <[8, 3]>
// CHECK: graph.gather %[[R]], %{{.*}} axis 0 {{.*}} -> tensor<5x3xf32>
func.func @index(%x: tensor<2x3x4xf32>, %i: tensor<5xi64>, %j: tensor<5xi64>) {
  %0 = "torch.aten.index.Tensor"(%x, %i) {indices.present = [false, true]} : (tensor<2x3x4xf32>, tensor<5xi64>) -> tensor<2x5x4xf32>
  %1 = "torch.aten.index.Tensor"(%x, %i, %j) {indices.present = [true, false, true]} : (tensor<2x3x4xf32>, tensor<5xi64>, tensor<5xi64>) -> tensor<5x3xf32>
  func.return
}
// CHECK-LABEL: @pieces
// CHECK: graph.split %x axis 0 sizes <[2, 2, 1]>
// CHECK: graph.concat %x, %x axis 0
// CHECK: graph.insert_slice %u into %x at <[1, 0]>
func.func @pieces(%x: tensor<5x4xf32>, %u: tensor<2x4xf32>) {
  %0:3 = "torch.aten.split.Tensor"(%x) {split_size = 2 : i64} : (tensor<5x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<1x4xf32>)
  %1 = "torch.aten.cat.default"(%x, %x) : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<10x4xf32>
  %2 = "torch.aten.slice_scatter.default"(%x, %u) {start = 1 : i64, end = 3 : i64} : (tensor<5x4xf32>, tensor<2x4xf32>) -> tensor<5x4xf32>
  func.return
}

// A slot of a state is written at a size: its other elements stay where they are.
// CHECK-LABEL: @state_slot
// CHECK: %[[AT:.*]] = graph.where
// CHECK: graph.bind_sizes %[[AT]] names ["data_0"]
// CHECK: graph.insert_slice %{{.*}} into %k at <[0, "data_0", 0]>
// CHECK-NOT: graph.scatter
func.func @state_slot(%k: tensor<2x8x3xf32> {graph.name = "k", graph.state = "k"}, %i: tensor<1xi64> {graph.name = "i"}, %v: tensor<2x1x3xf32> {graph.name = "v"}) -> (tensor<2x8x3xf32> {graph.state = "k"}) {
  %y = "torch.aten.index_put.default"(%k, %i, %v) {indices.present = [false, true]} : (tensor<2x8x3xf32>, tensor<1xi64>, tensor<2x1x3xf32>) -> tensor<2x8x3xf32>
  func.return %y : tensor<2x8x3xf32>
}

// Two slots at a time, and other values than states, are written at elements of a tensor.
// CHECK-LABEL: @state_slots
// CHECK: graph.scatter_nd
// CHECK-NOT: graph.insert_slice
func.func @state_slots(%k: tensor<2x8x3xf32> {graph.name = "k", graph.state = "k"}, %x: tensor<2x8x3xf32> {graph.name = "x"}, %i: tensor<2xi64> {graph.name = "i"}, %j: tensor<1xi64> {graph.name = "j"}, %v: tensor<2x2x3xf32> {graph.name = "v"}, %u: tensor<2x1x3xf32> {graph.name = "u"}) -> (tensor<2x8x3xf32> {graph.state = "k"}, tensor<2x8x3xf32> {graph.name = "y"}) {
  %y = "torch.aten.index_put.default"(%k, %i, %v) {indices.present = [false, true]} : (tensor<2x8x3xf32>, tensor<2xi64>, tensor<2x2x3xf32>) -> tensor<2x8x3xf32>
  %z = "torch.aten.index_put.default"(%x, %j, %u) {indices.present = [false, true]} : (tensor<2x8x3xf32>, tensor<1xi64>, tensor<2x1x3xf32>) -> tensor<2x8x3xf32>
  func.return %y, %z : tensor<2x8x3xf32>, tensor<2x8x3xf32>
}

// Differences of neighbours: each element but the first less each but the last; of truth values, whether they differ.
// CHECK-LABEL: @diff
// CHECK: %[[X:.*]] = graph.concat %p, %x axis 1
// CHECK: %[[A:.*]] = graph.slice %[[X]] starts <[0, 1]>
// CHECK: %[[B:.*]] = graph.slice %[[X]] starts <[0, 0]>
// CHECK: graph.subtract %[[A]], %[[B]] : (tensor<2x3xf32>, tensor<2x3xf32>)
// CHECK: graph.xor %{{.*}}, %{{.*}} : (tensor<3xi1>, tensor<3xi1>)
func.func @diff(%x: tensor<2x3xf32>, %p: tensor<2x1xf32>, %b: tensor<4xi1>) {
  %0 = "torch.aten.diff.default"(%x, %p) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  %1 = "torch.aten.diff.default"(%b) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4xi1>) -> tensor<3xi1>
  func.return
}
// Rows in axis 1 and columns in axis 0 of the result.
// CHECK-LABEL: @diagonals
// CHECK: %[[D:.*]] = graph.where %{{.*}} -> tensor<2x4x4xf32>
// CHECK: graph.transpose %[[D]] perm [2, 1, 0] : tensor<2x4x4xf32> -> tensor<4x4x2xf32>
func.func @diagonals(%x: tensor<2x3xf32>) -> tensor<4x4x2xf32> {
  %0 = "torch.aten.diag_embed.default"(%x) {offset = 1 : i64, dim1 = 1 : i64, dim2 = 0 : i64} : (tensor<2x3xf32>) -> tensor<4x4x2xf32>
  func.return %0 : tensor<4x4x2xf32>
}
