// RUN: stepwell-opt %s -p expand-forms | filecheck %s

// A running sum keeps blocks of columns in registers on their way down: 256 of them, and the two that are left.
// CHECK-LABEL: func.func private @columns
// CHECK: scf.for %[[FIRST:.*]] = %{{.*}} to %c256 step %c256
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %[[RESULT:.*]] = %{{.*}}) -> (vector<256xf32>, tensor<3x258xf32>)
// CHECK: %[[X:.*]] = vector.transfer_read %{{.*}}[%[[ROW]], %[[FIRST]]]
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[X]] : vector<256xf32>
// CHECK: %[[MORE:.*]] = vector.transfer_write %[[NEXT]], %[[RESULT]][%[[ROW]], %[[FIRST]]]
// CHECK: scf.yield %[[NEXT]], %[[MORE]]
// CHECK: {sched.parallel}
// CHECK: scf.for {{.*}} -> (vector<2xf32>, tensor<3x258xf32>)
func.func private @columns(%x: tensor<3x258xf32>, %e: tensor<3x258xf32>) -> tensor<3x258xf32> {
  %y = linalg_ext.scan %x into %e kind "sum" axis 0 exclusive false reverse false : (tensor<3x258xf32>, tensor<3x258xf32>) -> tensor<3x258xf32>
  func.return %y : tensor<3x258xf32>
}

// Along the innermost axis each row is walked by itself; a reversed one from its end.
// CHECK-LABEL: func.func private @rows
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} iter_args(%{{.*}} = %{{.*}}) -> (tensor<2x3xf16>)
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %[[RESULT:.*]] = %{{.*}}) -> (f32, tensor<2x3xf16>)
// CHECK: %[[AT:.*]] = arith.subi %{{.*}}, %[[I]] : index
// CHECK: tensor.extract %x[%[[ROW]], %[[AT]]] : tensor<2x3xf16>
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]], %{{.*}} : f32
// CHECK: tensor.insert %{{.*}} into %[[RESULT]][%[[ROW]], %[[AT]]]
// CHECK: scf.yield %[[NEXT]]
func.func private @rows(%x: tensor<2x3xf16>, %e: tensor<2x3xf16>) -> tensor<2x3xf16> {
  %y = linalg_ext.scan %x into %e kind "sum" axis 1 exclusive false reverse true : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x3xf16>
  func.return %y : tensor<2x3xf16>
}

// The size of a schedule: eight blocks of 32 columns, and two that are left.
// CHECK-LABEL: @edited
// CHECK: scf.for %{{.*}} = %{{.*}} to %c256 step %c32
// CHECK: vector<32xf32>
func.func private @edited(%x: tensor<3x258xf32>, %e: tensor<3x258xf32>) -> tensor<3x258xf32> {
  %y = linalg_ext.scan %x into %e kind "sum" axis 0 exclusive false reverse false {sched.schedule = #sched.schedule<form = "columns", sizes = {columns = 32}>} : (tensor<3x258xf32>, tensor<3x258xf32>) -> tensor<3x258xf32>
  func.return %y : tensor<3x258xf32>
}

// Columns that are one block: no loop around it.
// CHECK-LABEL: @one_block
// CHECK-NOT: sched.parallel
// CHECK: scf.for {{.*}} -> (vector<64xf32>, tensor<3x64xf32>)
// CHECK-NOT: sched.parallel
func.func private @one_block(%x: tensor<3x64xf32>, %e: tensor<3x64xf32>) -> tensor<3x64xf32> {
  %y = linalg_ext.scan %x into %e kind "sum" axis 0 exclusive false reverse false {sched.schedule = #sched.schedule<form = "columns", sizes = {columns = 64}>} : (tensor<3x64xf32>, tensor<3x64xf32>) -> tensor<3x64xf32>
  func.return %y : tensor<3x64xf32>
}

// Whole layers, as structured ops in a loop.
// CHECK-LABEL: @layers
// CHECK: scf.for
// CHECK: tensor.extract_slice %x[%{{.*}}, 0] [1, 258] [1, 1]
// CHECK: linalg.generic
// CHECK: tensor.insert_slice
// CHECK-NOT: unrealized_conversion_cast
func.func private @layers(%x: tensor<3x258xf32>, %e: tensor<3x258xf32>) -> tensor<3x258xf32> {
  %y = linalg_ext.scan %x into %e kind "sum" axis 0 exclusive false reverse false {sched.schedule = #sched.schedule<form = "layers">} : (tensor<3x258xf32>, tensor<3x258xf32>) -> tensor<3x258xf32>
  func.return %y : tensor<3x258xf32>
}
