// RUN: stepwell-opt %s -p convert-graph-to-linalg | filecheck %s

// The bare reduction is one generic op, from the identity.
// CHECK-LABEL: func.func private @k0
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[START:.*]] = linalg.fill ins(%[[ZERO]] : f32) outs(%{{.*}} : tensor<2xf32>)
// CHECK: %[[SUM:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%p : tensor<2x3xf32>) outs(%[[START]]
// CHECK: arith.addf
// CHECK: func.return %[[SUM]]
func.func @sum(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %y = graph.fused (%p = %x : tensor<2x3xf32>) -> (tensor<2xf32>) {
    %0 = graph.reduce %p kind "sum" axes [1] keep_dims false : tensor<2x3xf32> -> tensor<2xf32>
    graph.yield %0 : tensor<2xf32>
  }
  func.return %y : tensor<2xf32>
}

// Narrow floats are summed in f32, and divided by the count before they are rounded, once.
// CHECK-LABEL: func.func private @k1
// CHECK: linalg.generic {{.*}} ins(%p : tensor<?x?xf16>) outs(%{{.*}} : tensor<?xf32>)
// CHECK: arith.extf
// CHECK: %[[I:.*]] = arith.index_cast %S : index to i64
// CHECK: %[[COUNT:.*]] = arith.sitofp %[[I]] : i64 to f32
// CHECK: arith.divf %{{.*}}, %[[COUNT]] : f32
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>]{{.*}} outs(%{{.*}} : tensor<?x1xf16>)
// CHECK: arith.truncf
func.func @mean(%x: tensor<?x?xf16, #graph.dims<["N", "S"]>>) -> tensor<?x1xf16, #graph.dims<["N", 1]>> {
  %y = graph.fused (%p = %x : tensor<?x?xf16, #graph.dims<["N", "S"]>>) -> (tensor<?x1xf16, #graph.dims<["N", 1]>>) {
    %0 = graph.reduce %p kind "mean" axes [1] keep_dims true : tensor<?x?xf16, #graph.dims<["N", "S"]>> -> tensor<?x1xf16, #graph.dims<["N", 1]>>
    graph.yield %0 : tensor<?x1xf16, #graph.dims<["N", 1]>>
  }
  func.return %y : tensor<?x1xf16, #graph.dims<["N", 1]>>
}

// Softmax: the maximum of each row, powers, their sum, quotients.
// CHECK-LABEL: func.func private @k2
// CHECK: %[[MAX:.*]] = linalg.generic {{.*}} ins(%p : tensor<2x3xf32>) outs(%{{.*}} : tensor<2xf32>)
// CHECK: arith.maxnumf
// CHECK: %[[POWERS:.*]] = linalg.generic {{.*}} ins(%p, %[[MAX]] : tensor<2x3xf32>, tensor<2xf32>)
// CHECK: arith.subf
// CHECK: math.exp %{{.*}} {sched.not_positive} : f32
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[POWERS]] : tensor<2x3xf32>) outs(%{{.*}} : tensor<2xf32>)
// CHECK: arith.addf
// CHECK: linalg.generic {{.*}} ins(%[[SUM]] : tensor<2xf32>) outs(%[[POWERS]] : tensor<2x3xf32>)
// CHECK: arith.divf
func.func @softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = graph.fused (%p = %x : tensor<2x3xf32>) -> (tensor<2x3xf32>) {
    %0 = graph.softmax %p axis 1 : tensor<2x3xf32> -> tensor<2x3xf32>
    graph.yield %0 : tensor<2x3xf32>
  }
  func.return %y : tensor<2x3xf32>
}

// The place of a maximum is the lowest index that has it.
// CHECK-LABEL: func.func private @k3
// CHECK: arith.maxsi
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2xi64>)
// CHECK: linalg.index 1 : index
// CHECK: arith.cmpi eq
// CHECK: arith.minsi %{{.*}} : i64
func.func @argmax(%x: tensor<2x3xi8>) -> tensor<2xi64> {
  %y = graph.fused (%p = %x : tensor<2x3xi8>) -> (tensor<2xi64>) {
    %0 = graph.argmax %p axis 1 keep_dims false select_last false : tensor<2x3xi8> -> tensor<2xi64>
    graph.yield %0 : tensor<2xi64>
  }
  func.return %y : tensor<2xi64>
}

// A running sum, and the first elements of unsigned rows: ops into tensors.
// CHECK-LABEL: func.func private @k4
// CHECK: %[[E:.*]] = tensor.empty() : tensor<3x258xf32>
// CHECK: linalg_ext.scan %{{.*}} into %[[E]] kind "sum" axis 0 exclusive false reverse false
func.func @scan(%x: tensor<3x258xf32>) -> tensor<3x258xf32> {
  %y = graph.fused (%p = %x : tensor<3x258xf32>) -> (tensor<3x258xf32>) {
    %0 = graph.scan %p kind "sum" axis 0 exclusive false reverse false : tensor<3x258xf32> -> tensor<3x258xf32>
    graph.yield %0 : tensor<3x258xf32>
  }
  func.return %y : tensor<3x258xf32>
}

// CHECK-LABEL: func.func private @k5
// CHECK: linalg_ext.top_k %{{.*}} into %{{.*}}, %{{.*}} of ui8 axis 1 largest true
// CHECK-SAME: (tensor<2x9xi8>, tensor<2x3xi8>, tensor<2x3xi64>) -> (tensor<2x3xi8>, tensor<2x3xi64>)
func.func @top_k(%x: tensor<2x9xui8>) -> tensor<2x3xui8> {
  %y = graph.fused (%p = %x : tensor<2x9xui8>) -> (tensor<2x3xui8>) {
    %0, %1 = graph.top_k %p k <[3]> axis 1 largest true : tensor<2x9xui8> -> (tensor<2x3xui8>, tensor<2x3xi64>)
    graph.yield %0 : tensor<2x3xui8>
  }
  func.return %y : tensor<2x3xui8>
}

// Logarithms of softmax: differences from the maximum, the sum of their powers, and its logarithm taken off.
// CHECK-LABEL: func.func private @k6
// CHECK: %[[BELOW:.*]] = linalg.generic {{.*}} ins(%p, %{{.*}} : tensor<2x3xf32>, tensor<2xf32>)
// CHECK: arith.subf
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[BELOW]] : tensor<2x3xf32>) outs(%{{.*}} : tensor<2xf32>)
// CHECK: math.exp %{{.*}} {sched.not_positive} : f32
// CHECK: %[[LOG:.*]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<2xf32>)
// CHECK: math.log
// CHECK: linalg.generic {{.*}} ins(%[[LOG]] : tensor<2xf32>) outs(%[[BELOW]] : tensor<2x3xf32>)
// CHECK: arith.subf
func.func @log_softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = graph.fused (%p = %x : tensor<2x3xf32>) -> (tensor<2x3xf32>) {
    %0 = graph.log_softmax %p axis 1 : tensor<2x3xf32> -> tensor<2x3xf32>
    graph.yield %0 : tensor<2x3xf32>
  }
  func.return %y : tensor<2x3xf32>
}
