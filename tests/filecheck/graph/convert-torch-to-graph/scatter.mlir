// RUN: stepwell-opt %s -p convert-torch-to-graph | filecheck %s

// CHECK-LABEL: @with_self
// CHECK: graph.scatter_elements %x, %i, %u axis 1 combine "max"
func.func @with_self(%x: tensor<2x3xf32>, %i: tensor<2x2xi64>, %u: tensor<2x2xf32>) {
  %0 = "torch.aten.scatter_reduce.two"(%x, %i, %u) {dim = -1 : i64, reduce = "amax"} : (tensor<2x3xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<2x3xf32>
  func.return
}
// The elements that are written begin with 0 for a sum, and with one of the updates for a maximum.
// CHECK-LABEL: @without_self
// CHECK: %[[Z:.*]] = graph.scatter_elements %x, %i, %{{.*}} axis 0 combine "none"
// CHECK: graph.scatter_elements %[[Z]], %i, %u axis 0 combine "add"
// CHECK: %[[U:.*]] = graph.scatter_elements %x, %i, %u axis 0 combine "none"
// CHECK: graph.scatter_elements %[[U]], %i, %u axis 0 combine "max"
func.func @without_self(%x: tensor<2x3xf32>, %i: tensor<2x2xi64>, %u: tensor<2x2xf32>) {
  %0 = "torch.aten.scatter_reduce.two"(%x, %i, %u) {dim = 0 : i64, reduce = "sum", include_self = false} : (tensor<2x3xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<2x3xf32>
  %1 = "torch.aten.scatter_reduce.two"(%x, %i, %u) {dim = 0 : i64, reduce = "amax", include_self = false} : (tensor<2x3xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<2x3xf32>
  func.return
}
// CHECK-LABEL: @mean
// CHECK: %[[S:.*]] = graph.scatter_elements %x, %i, %u axis 0 combine "add"
// CHECK: %[[N:.*]] = graph.scatter_elements %{{.*}}, %i, %{{.*}} axis 0 combine "add"
// CHECK: %[[C:.*]] = graph.maximum %[[N]]
// CHECK: graph.divide %[[S]], %[[C]]
func.func @mean(%x: tensor<2x3xf32>, %i: tensor<2x2xi64>, %u: tensor<2x2xf32>) {
  %0 = "torch.aten.scatter_reduce.two"(%x, %i, %u) {dim = 0 : i64, reduce = "mean"} : (tensor<2x3xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<2x3xf32>
  func.return
}
// The number of true elements has the program's name, and is defined once for a mask that two calls share.
// CHECK-LABEL: @sizes_of_data
// CHECK: graph.bind_sizes %{{.*}} names ["u0"]
// CHECK-NOT: graph.bind_sizes
// CHECK: graph.gather {{.*}} -> tensor<?xf32, #graph.dims<["u0"]>>
// CHECK: graph.multiply {{.*}} -> tensor<?xf32, #graph.dims<["u0"]>>
// CHECK: graph.scatter_nd %{{.*}} combine "none"
// CHECK: graph.bind_sizes %{{.*}} names ["u1"]
// CHECK: graph.concat {{.*}} -> tensor<?x2xi64, #graph.dims<["u1", 2]>>
func.func @sizes_of_data(%x: tensor<2x3xf32>, %m: tensor<2x3xi1>) -> (tensor<2x3xf32>, tensor<?x2xi64, #graph.dims<["u1", 2]>>) {
  %a = "torch.aten.index.Tensor"(%x, %m) {indices.present = [true]} : (tensor<2x3xf32>, tensor<2x3xi1>) -> tensor<?xf32, #graph.dims<["u0"]>>
  %b = "torch.aten.mul.Tensor"(%a, %a) : (tensor<?xf32, #graph.dims<["u0"]>>, tensor<?xf32, #graph.dims<["u0"]>>) -> tensor<?xf32, #graph.dims<["u0"]>>
  %c = "torch.aten.index_put.default"(%x, %m, %b) {indices.present = [true], operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<2x3xf32>, tensor<2x3xi1>, tensor<?xf32, #graph.dims<["u0"]>>) -> tensor<2x3xf32>
  %d = "torch.aten.nonzero.default"(%x) : (tensor<2x3xf32>) -> tensor<?x2xi64, #graph.dims<["u1", 2]>>
  func.return %c, %d : tensor<2x3xf32>, tensor<?x2xi64, #graph.dims<["u1", 2]>>
}
// Rows at the indices whose norm is above the bound are scaled, in f32.
// CHECK-LABEL: @rows_of_a_norm
// CHECK: %[[T:.*]] = graph.cast %t to f32
// CHECK: %[[N:.*]] = graph.sqrt
// CHECK: %[[R:.*]] = graph.scatter_elements {{.*}} axis 0 combine "none"
// CHECK: graph.where %{{.*}}, %{{.*}}, %[[T]]
// CHECK-NEXT: graph.cast {{.*}} to bf16
func.func @rows_of_a_norm(%t: tensor<5x2xbf16>, %i: tensor<1x3xi64>) -> tensor<5x2xbf16> {
  %0 = "torch.aten.embedding_renorm.default"(%t, %i) {max_norm = 2.0 : f64, norm_type = 2.0 : f64} : (tensor<5x2xbf16>, tensor<1x3xi64>) -> tensor<5x2xbf16>
  func.return %0 : tensor<5x2xbf16>
}
