// RUN: stepwell-opt %s -p 'convert-graph-to-linalg' --split-input-file | filecheck %s

// CHECK-LABEL: func.func private @k0
// CHECK: %[[INIT:.*]] = tensor.empty() : tensor<1x2x14x14x16xf32>
// CHECK: linalg_ext.winograd_conv %a, %b into %[[INIT]] tile 4 pads [1, 1, 1, 1] :
func.func @main(%x: tensor<1x2x14x14x16xf32>, %u: tensor<36x1x32x32xf32>) -> tensor<1x2x14x14x16xf32> {
  %0 = graph.fused (%a = %x : tensor<1x2x14x14x16xf32>, %b = %u : tensor<36x1x32x32xf32>) -> (tensor<1x2x14x14x16xf32>) {
    %y = graph.winograd_conv %a, %b tile 4 pads [1, 1, 1, 1] : (tensor<1x2x14x14x16xf32>, tensor<36x1x32x32xf32>) -> tensor<1x2x14x14x16xf32>
    graph.yield %y : tensor<1x2x14x14x16xf32>
  }
  func.return %0 : tensor<1x2x14x14x16xf32>
}

// -----

// CHECK-LABEL: func.func private @k0
// CHECK: %[[INIT:.*]] = tensor.empty(%H) : tensor<1x1x?x20x16xf32>
// CHECK: linalg_ext.winograd_conv %a, %b into %[[INIT]] tile 4 pads [1, 1, 1, 1] :
func.func @main(%x: tensor<1x1x?x20x16xf32, #graph.dims<[1, 1, "H", 20, 16]>>, %u: tensor<36x1x16x16xf32>) -> tensor<1x1x?x20x16xf32, #graph.dims<[1, 1, "H", 20, 16]>> {
  %0 = graph.fused (%a = %x : tensor<1x1x?x20x16xf32, #graph.dims<[1, 1, "H", 20, 16]>>, %b = %u : tensor<36x1x16x16xf32>) -> (tensor<1x1x?x20x16xf32, #graph.dims<[1, 1, "H", 20, 16]>>) {
    %y = graph.winograd_conv %a, %b tile 4 pads [1, 1, 1, 1] : (tensor<1x1x?x20x16xf32, #graph.dims<[1, 1, "H", 20, 16]>>, tensor<36x1x16x16xf32>) -> tensor<1x1x?x20x16xf32, #graph.dims<[1, 1, "H", 20, 16]>>
    graph.yield %y : tensor<1x1x?x20x16xf32, #graph.dims<[1, 1, "H", 20, 16]>>
  }
  func.return %0 : tensor<1x1x?x20x16xf32, #graph.dims<[1, 1, "H", 20, 16]>>
}
