// RUN: stepwell-opt %s | filecheck %s

// Optional and listed tensors are segments; other arguments are attributes, and defaults are left out.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<?x4xf32, #graph.dims<["N", 4]>>, %w: tensor<3x4xf32>, %i: tensor<2xi64>) {
  // CHECK: "torch.aten.linear.default"(%x, %w) {torch.node = "linear"} : (tensor<?x4xf32, #graph.dims<["N", 4]>>, tensor<3x4xf32>)
  %y = "torch.aten.linear.default"(%x, %w) {torch.node = "linear"} : (tensor<?x4xf32, #graph.dims<["N", 4]>>, tensor<3x4xf32>) -> tensor<?x3xf32, #graph.dims<["N", 3]>>
  // CHECK: {indices.present = [false, true]}
  %c = "torch.aten.index.Tensor"(%x, %i) {indices.present = [false, true]} : (tensor<?x4xf32, #graph.dims<["N", 4]>>, tensor<2xi64>) -> tensor<?x2xf32, #graph.dims<["N", 2]>>
  // CHECK: "torch.aten.cat.default"(%{{.*}}, %{{.*}}) {dim = 1 : i64}
  %s = "torch.aten.cat.default"(%y, %c) {dim = 1 : i64} : (tensor<?x3xf32, #graph.dims<["N", 3]>>, tensor<?x2xf32, #graph.dims<["N", 2]>>) -> tensor<?x5xf32, #graph.dims<["N", 5]>>
  // CHECK: {size = ["5 * N"]}
  %v = "torch.aten.view.default"(%s) {size = ["5 * N"]} : (tensor<?x5xf32, #graph.dims<["N", 5]>>) -> tensor<?xf32, #graph.dims<["5 * N"]>>
  // CHECK: "torch.operator"(%{{.*}}) <{target = "mylib.foo.default"}>
  %o = "torch.operator"(%v) <{target = "mylib.foo.default"}> : (tensor<?xf32, #graph.dims<["5 * N"]>>) -> tensor<f32>
  // CHECK: "torch.aten.split.Tensor"(%{{.*}}) {split_size = 1 : i64} : (tensor<3x4xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>)
  %p:3 = "torch.aten.split.Tensor"(%w) {split_size = 1 : i64} : (tensor<3x4xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>)
  // CHECK: "torch.aten.sum.default"(%{{.*}}) {dtype = f64}
  %d = "torch.aten.sum.default"(%w) {dtype = f64} : (tensor<3x4xf32>) -> tensor<f64>
  func.return
}
