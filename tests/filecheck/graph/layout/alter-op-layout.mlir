// RUN: stepwell-opt %s -p fold-constant,alter-op-layout | filecheck %s
// RUN: stepwell-opt %s -p fold-constant,AlterOpLayout,alter-op-layout | filecheck %s

// As many channels in a block as a vector of this machine has lanes: 4, 8 or 16.
// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = graph.layout_transform %x from "NCHW" to "NCHW[[LANES:[0-9]+]]c"
// CHECK: %[[C:.*]] = graph.conv %[[X]], {{.*}} data_layout "NCHW{{[0-9]+}}c" kernel_layout "OIHW{{[0-9]+}}i{{[0-9]+}}o"
// CHECK: %[[R:.*]] = graph.relu %[[C]]
// CHECK: %[[Y:.*]] = graph.layout_transform %[[R]] from "NCHW{{[0-9]+}}c" to "NCHW"
// CHECK-NEXT: func.return %[[Y]]
func.func @main(%x: tensor<1x16x3x3xf32>) -> tensor<1x16x3x3xf32> {
  %e = graph.constant dense<1.0> : tensor<f32>
  %w = graph.full %e shape <[16, 16, 3, 3]> : tensor<f32> -> tensor<16x16x3x3xf32>
  %v = graph.add %w, %w : (tensor<16x16x3x3xf32>, tensor<16x16x3x3xf32>) -> tensor<16x16x3x3xf32>
  %c = graph.conv %x, %v strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] : (tensor<1x16x3x3xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x3x3xf32>
  %r = graph.relu %c : tensor<1x16x3x3xf32> -> tensor<1x16x3x3xf32>
  func.return %r : tensor<1x16x3x3xf32>
}
