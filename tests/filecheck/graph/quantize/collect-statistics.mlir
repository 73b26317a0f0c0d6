// RUN: stepwell-opt %s -p collect-statistics | filecheck %s
// RUN: stepwell-opt %s -p 'collect-statistics{of=histogram table="%S/table.json"}' | filecheck %s --check-prefix COUNTS
// RUN: stepwell-opt %s -p 'collect-statistics{of=channels}' | filecheck %s --check-prefix CHANNELS
// RUN: stepwell-opt %s -p 'collect-statistics{of=moments keys="a:0"}' | filecheck %s --check-prefix MOMENTS

// Numbers that only moved have the statistics of those before; weights have none.
// CHECK-LABEL: @main
// CHECK-SAME: graph.name = "y"
// CHECK-SAME: graph.name = "min a:0"
// CHECK-SAME: graph.name = "mean b:0"
// CHECK: %[[MIN:.*]] = graph.reduce %x kind "min" axes [0, 1] keep_dims false
// CHECK: %[[MAX:.*]] = graph.reduce %x kind "max" axes [0, 1] keep_dims false
// CHECK: %[[MEAN:.*]] = graph.reduce %x kind "mean" axes [0, 1] keep_dims false
// CHECK-NOT: graph.reduce
// CHECK-NOT: observe
// CHECK: func.return %[[Y:.*]], %[[MIN]], %[[MAX]], %[[MEAN]], %[[MIN]], %[[MAX]], %[[MEAN]]

// COUNTS: %[[ENDS:.*]] = graph.constant dense<[-1.000000e+00, 3.000000e+00]> : tensor<2xf64>
// COUNTS: %[[N:.*]] = graph.host_call "numpy" "host.histogram" payload {{.*}}2048}}"(%x, %[[ENDS]])
// COUNTS: func.return %{{.*}}, %[[N]], %[[N]]

// CHANNELS: graph.name = "greatest a:0"
// CHANNELS-SAME: graph.name = "average b:0"
// CHANNELS: %[[S:.*]] = graph.abs %x
// CHANNELS: %[[G:.*]] = graph.reduce %[[S]] kind "max" axes [0] keep_dims false
// CHANNELS: %[[M:.*]] = graph.reduce %[[S]] kind "mean" axes [0] keep_dims false
// CHANNELS: %[[A:.*]] = graph.reduce %x kind "mean" axes [0] keep_dims false
// CHANNELS: graph.reduce {{.*}} kind "max" axes [0] keep_dims false : tensor<2x4xf32>
// CHANNELS: func.return %{{.*}}, %[[G]], %[[M]], %[[A]], %{{.*}}, %{{.*}}, %{{.*}} :

// MOMENTS-NOT: b:0
// MOMENTS: %[[P:.*]] = graph.matmul %x, %x transpose_a true : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
// MOMENTS: func.return %{{.*}}, %[[P]] :
func.func @main(%x: tensor<4x2xf32>) -> (tensor<4x2xf32> {graph.name = "y"}) {
  %m = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = graph.observe %x key "a:0" role "activation" to ui8 : tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = graph.transpose %x perm [1, 0] : tensor<4x2xf32> -> tensor<2x4xf32>
  %2 = graph.observe %1 key "b:0" role "activation" to ui8 : tensor<2x4xf32> -> tensor<2x4xf32>
  %3 = graph.observe %m key "a:1" role "weight" to i8 axis 1 : tensor<2x2xf32> -> tensor<2x2xf32>
  %4 = graph.matmul %0, %3 : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  func.return %4 : tensor<4x2xf32>
}
