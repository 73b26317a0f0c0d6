// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @views
func.func @views(%x: tensor<?x6xf32, #graph.dims<["N", 6]>>, %s: tensor<2xi64>) {
  // CHECK: graph.reshape %x shape <["2 * N", 3]> : tensor<?x6xf32, #graph.dims<["N", 6]>> -> tensor<?x3xf32, #graph.dims<["2 * N", 3]>>
  %0 = graph.reshape %x shape <["2 * N", 3]> : tensor<?x6xf32, #graph.dims<["N", 6]>> -> tensor<?x3xf32, #graph.dims<["2 * N", 3]>>
  // CHECK: graph.reshape %x shape_value %s : tensor<2xi64> : tensor<?x6xf32, #graph.dims<["N", 6]>> -> tensor<?x?xf32>
  %1 = graph.reshape %x shape_value %s : tensor<2xi64> : tensor<?x6xf32, #graph.dims<["N", 6]>> -> tensor<?x?xf32>
  // A result may have a name that its relation does not know.
  // CHECK: tensor<?x?xf32, #graph.dims<["A", "B"]>>
  %2 = graph.reshape %x shape_value %s : tensor<2xi64> : tensor<?x6xf32, #graph.dims<["N", 6]>> -> tensor<?x?xf32, #graph.dims<["A", "B"]>>
  // CHECK: graph.expand_dims %x axes [0, 3]
  %3 = graph.expand_dims %x axes [0, 3] : tensor<?x6xf32, #graph.dims<["N", 6]>> -> tensor<1x?x6x1xf32, #graph.dims<[1, "N", 6, 1]>>
  // CHECK: graph.squeeze %{{.*}} axes [0, 3]
  %4 = graph.squeeze %3 axes [0, 3] : tensor<1x?x6x1xf32, #graph.dims<[1, "N", 6, 1]>> -> tensor<?x6xf32, #graph.dims<["N", 6]>>
  func.return
}

// CHECK-LABEL: @made
func.func @made(%x: tensor<?x6xf32, #graph.dims<["N", 6]>>, %v: tensor<f32>, %i: tensor<i32>) {
  // CHECK: graph.broadcast_to %x shape <[2, "N", 6]>
  %0 = graph.broadcast_to %x shape <[2, "N", 6]> : tensor<?x6xf32, #graph.dims<["N", 6]>> -> tensor<2x?x6xf32, #graph.dims<[2, "N", 6]>>
  // CHECK: graph.shape_of %x start 1 end 2 : tensor<?x6xf32, #graph.dims<["N", 6]>> -> tensor<1xi64>
  %1 = graph.shape_of %x start 1 end 2 : tensor<?x6xf32, #graph.dims<["N", 6]>> -> tensor<1xi64>
  // CHECK: graph.extents <["N", "2 * N"]> -> tensor<2xi64>
  %2 = graph.extents <["N", "2 * N"]> -> tensor<2xi64>
  // CHECK: graph.full %v shape <["N", 3]> : tensor<f32> -> tensor<?x3xf32, #graph.dims<["N", 3]>>
  %3 = graph.full %v shape <["N", 3]> : tensor<f32> -> tensor<?x3xf32, #graph.dims<["N", 3]>>
  // CHECK: graph.iota shape <["N", 3]> axis 1 of i32 -> tensor<?x3xi32, #graph.dims<["N", 3]>>
  %4 = graph.iota shape <["N", 3]> axis 1 of i32 -> tensor<?x3xi32, #graph.dims<["N", 3]>>
  // CHECK: graph.range %i, %i, %i : (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<?xi32, #graph.dims<["R"]>>
  %5 = graph.range %i, %i, %i : (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<?xi32, #graph.dims<["R"]>>
  func.return
}
