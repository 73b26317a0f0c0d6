// RUN: stepwell-opt %s | filecheck %s

// A symbol has no shapes: results have an element type alone. Attributes that have their default are left out.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<?x3x8x8xf32, #graph.dims<["N", 3, 8, 8]>>, %w: tensor<4x3x1x1xf32>) {
  // CHECK: "mxnet.Convolution"(%x, %w) {kernel = [1 : i64, 1 : i64], num_filter = 4 : i64, no_bias = true}
  // CHECK-SAME: -> tensor<*xf32>
  %y = "mxnet.Convolution"(%x, %w) {kernel = [1 : i64, 1 : i64], num_filter = 4 : i64, no_bias = true} : (tensor<?x3x8x8xf32, #graph.dims<["N", 3, 8, 8]>>, tensor<4x3x1x1xf32>) -> tensor<*xf32>
  // CHECK: "mxnet.SliceChannel"(%{{.*}}) {num_outputs = 2 : i64} : (tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  %a, %b = "mxnet.SliceChannel"(%y) {num_outputs = 2 : i64} : (tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  // CHECK: "mxnet.operator"(%{{.*}}) <{target = "MultiBoxPrior"}> : (tensor<*xf32>) -> tensor<*xf32>
  %o = "mxnet.operator"(%b) <{target = "MultiBoxPrior"}> : (tensor<*xf32>) -> tensor<*xf32>
  func.return
}
