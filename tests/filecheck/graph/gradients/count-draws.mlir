// RUN: stepwell-opt %s -p count-draws --split-input-file | filecheck %s

// The bits of an element are a hash of the number of the call, a state, and of its position; 24 of them are compared.
// CHECK-LABEL: func.func @main(%draws: tensor<ui32> {graph.name = "draws", graph.state = "draws"}, %x: tensor<?x8xf32
// CHECK-SAME: -> (tensor<?x8xi1, #graph.dims<["N", 8]>>, tensor<ui32> {graph.name = "draws", graph.state = "draws"})
// CHECK-NOT: graph.host_call
// CHECK: graph.reshape %draws shape <[1, 1]>
// CHECK: graph.iota shape <["N", 1]> axis 0 of ui32
// CHECK: graph.iota shape <[1, 8]> axis 1 of ui32
// CHECK: %[[EIGHT:.*]] = graph.constant dense<8> : tensor<ui32>
// CHECK: %[[UPPER:.*]] = graph.shift_right %{{.*}}, %[[EIGHT]]
// CHECK: %[[FLOAT:.*]] = graph.cast %[[UPPER]]
// CHECK: %[[UNIFORM:.*]] = graph.multiply %[[FLOAT]], %{{.*}}
// CHECK: %kept = graph.less_equal %ratio, %[[UNIFORM]]
// CHECK: %[[NEXT:.*]] = graph.add %draws, %{{.*}} : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
// CHECK: func.return %kept, %[[NEXT]]
func.func @main(%x: tensor<?x8xf32, #graph.dims<["N", 8]>>, %ratio: tensor<f32>) -> tensor<?x8xi1, #graph.dims<["N", 8]>> {
  %kept = graph.host_call "numpy" "host.dropout_mask" payload "{\22op\22: \22host.dropout_mask\22, \22attributes\22: {\22seed\22: 3}}"(%x, %ratio) : (tensor<?x8xf32, #graph.dims<["N", 8]>>, tensor<f32>) -> tensor<?x8xi1, #graph.dims<["N", 8]>>
  func.return %kept : tensor<?x8xi1, #graph.dims<["N", 8]>>
}

// -----

// Without a seed the host draws anew at each call.
// CHECK-LABEL: func.func @main(%x: tensor<4xf32>, %ratio: tensor<f32>) -> tensor<4xi1>
// CHECK: graph.host_call "numpy" "host.dropout_mask"
func.func @main(%x: tensor<4xf32>, %ratio: tensor<f32>) -> tensor<4xi1> {
  %kept = graph.host_call "numpy" "host.dropout_mask" payload "{\22op\22: \22host.dropout_mask\22, \22attributes\22: {\22seed\22: null}}"(%x, %ratio) {effect} : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  func.return %kept : tensor<4xi1>
}
