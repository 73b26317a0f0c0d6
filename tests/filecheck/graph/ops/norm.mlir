// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @rows
func.func @rows(%x: tensor<2x3x4xf32>, %s: tensor<3x4xf32>, %b: tensor<4xf32>) {
  // CHECK: graph.layer_norm %x scale %s : tensor<3x4xf32> bias %b : tensor<4xf32> axis 1 eps {{.*}} compute_type f32 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %0 = graph.layer_norm %x scale %s : tensor<3x4xf32> bias %b : tensor<4xf32> axis 1 eps 1.0e-5 compute_type f32 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  // CHECK: graph.layer_norm %x axis 2 {{.*}} -> tensor<2x3x4xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>
  %1, %mean, %inv_std = graph.layer_norm %x axis 2 eps 1.0e-5 compute_type f32 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>
  // CHECK: graph.rms_norm %x scale %b : tensor<4xf32> axis 2
  %2 = graph.rms_norm %x scale %b : tensor<4xf32> axis 2 eps 1.0e-5 compute_type f32 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  // CHECK: graph.lp_norm %x axis 1 p 2 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %3 = graph.lp_norm %x axis 1 p 2 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  func.return
}

// CHECK-LABEL: @channels
func.func @channels(%x: tensor<2x6x4xf32>, %m: tensor<6xf32>, %v: tensor<6xf32>, %s: tensor<6xf32>) {
  // CHECK: graph.batch_norm %x mean %m variance %v scale %s bias %s eps {{.*}} axis 1 : (tensor<2x6x4xf32>, tensor<6xf32>) -> tensor<2x6x4xf32>
  %0 = graph.batch_norm %x mean %m variance %v scale %s bias %s eps 1.0e-5 axis 1 : (tensor<2x6x4xf32>, tensor<6xf32>) -> tensor<2x6x4xf32>
  // CHECK: graph.batch_norm %x mean %m variance %v eps {{.*}} axis 1 : (tensor<2x6x4xf32>, tensor<6xf32>) -> tensor<2x6x4xf32>
  %1 = graph.batch_norm %x mean %m variance %v eps 1.0e-5 axis 1 : (tensor<2x6x4xf32>, tensor<6xf32>) -> tensor<2x6x4xf32>
  // CHECK: graph.instance_norm %x scale %s : tensor<6xf32> eps {{.*}} : tensor<2x6x4xf32> -> tensor<2x6x4xf32>
  %2 = graph.instance_norm %x scale %s : tensor<6xf32> eps 1.0e-5 : tensor<2x6x4xf32> -> tensor<2x6x4xf32>
  // CHECK: graph.group_norm %x scale %s : tensor<6xf32> bias %s : tensor<6xf32> groups 3 eps {{.*}} : tensor<2x6x4xf32> -> tensor<2x6x4xf32>
  %3 = graph.group_norm %x scale %s : tensor<6xf32> bias %s : tensor<6xf32> groups 3 eps 1.0e-5 : tensor<2x6x4xf32> -> tensor<2x6x4xf32>
  // CHECK: graph.lrn %x size 3 alpha {{.*}} beta {{.*}} bias {{.*}} : tensor<2x6x4xf32> -> tensor<2x6x4xf32>
  %4 = graph.lrn %x size 3 alpha 1.0e-4 beta 0.75 bias 1.0 : tensor<2x6x4xf32> -> tensor<2x6x4xf32>
  func.return
}
