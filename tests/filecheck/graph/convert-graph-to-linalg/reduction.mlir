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

// A running sum keeps blocks of columns in registers on their way down: 256 of them, and the two that are left.
// CHECK-LABEL: func.func private @k4
// CHECK: scf.for %[[FIRST:.*]] = %{{.*}} to %c256 step %c256
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %[[RESULT:.*]] = %{{.*}}) -> (vector<256xf32>, tensor<3x258xf32>)
// CHECK: %[[X:.*]] = vector.transfer_read %{{.*}}[%[[ROW]], %[[FIRST]]]
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[X]] : vector<256xf32>
// CHECK: %[[MORE:.*]] = vector.transfer_write %[[NEXT]], %[[RESULT]][%[[ROW]], %[[FIRST]]]
// CHECK: scf.yield %[[NEXT]], %[[MORE]]
// CHECK: {sched.parallel}
// CHECK: scf.for {{.*}} -> (vector<2xf32>, tensor<3x258xf32>)
func.func @scan(%x: tensor<3x258xf32>) -> tensor<3x258xf32> {
  %y = graph.fused (%p = %x : tensor<3x258xf32>) -> (tensor<3x258xf32>) {
    %0 = graph.scan %p kind "sum" axis 0 exclusive false reverse false : tensor<3x258xf32> -> tensor<3x258xf32>
    graph.yield %0 : tensor<3x258xf32>
  }
  func.return %y : tensor<3x258xf32>
}

// Along the innermost axis each row is walked by itself; a reversed one from its end.
// CHECK-LABEL: func.func private @k5
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} iter_args(%{{.*}} = %{{.*}}) -> (tensor<2x3xf16>)
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %[[RESULT:.*]] = %{{.*}}) -> (f32, tensor<2x3xf16>)
// CHECK: %[[AT:.*]] = arith.subi %{{.*}}, %[[I]] : index
// CHECK: tensor.extract %p[%[[ROW]], %[[AT]]] : tensor<2x3xf16>
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]], %{{.*}} : f32
// CHECK: tensor.insert %{{.*}} into %[[RESULT]][%[[ROW]], %[[AT]]]
// CHECK: scf.yield %[[NEXT]]
func.func @scan_of_rows(%x: tensor<2x3xf16>) -> tensor<2x3xf16> {
  %y = graph.fused (%p = %x : tensor<2x3xf16>) -> (tensor<2x3xf16>) {
    %0 = graph.scan %p kind "sum" axis 1 exclusive false reverse true : tensor<2x3xf16> -> tensor<2x3xf16>
    graph.yield %0 : tensor<2x3xf16>
  }
  func.return %y : tensor<2x3xf16>
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
