// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @heads
func.func @heads(%q: tensor<2x8x49x64xf32>, %k: tensor<2x1x50x64xf32>, %v: tensor<50x32xf32>, %m: tensor<49x1xf32>) {
  // CHECK: graph.attention %q, %k, %v scale 1.250000e-01 : (tensor<2x8x49x64xf32>, tensor<2x1x50x64xf32>, tensor<50x32xf32>) -> tensor<2x8x49x32xf32>
  %0 = graph.attention %q, %k, %v scale 0.125 : (tensor<2x8x49x64xf32>, tensor<2x1x50x64xf32>, tensor<50x32xf32>) -> tensor<2x8x49x32xf32>
  // CHECK: graph.attention %q, %k, %v mask %m : tensor<49x1xf32> scale 1.250000e-01 zero_masked true : (
  %1 = graph.attention %q, %k, %v mask %m : tensor<49x1xf32> scale 0.125 zero_masked true : (tensor<2x8x49x64xf32>, tensor<2x1x50x64xf32>, tensor<50x32xf32>) -> tensor<2x8x49x32xf32>
  func.return
}

// CHECK-LABEL: @symbols
func.func @symbols(%q: tensor<?x?x8xf16, #graph.dims<["B", "S", 8]>>, %k: tensor<?x?x8xf16, #graph.dims<["B", "T", 8]>>) {
  // CHECK: -> tensor<?x?x8xf16, #graph.dims<["B", "S", 8]>>
  %0 = graph.attention %q, %k, %k scale 1.0 : (tensor<?x?x8xf16, #graph.dims<["B", "S", 8]>>, tensor<?x?x8xf16, #graph.dims<["B", "T", 8]>>, tensor<?x?x8xf16, #graph.dims<["B", "T", 8]>>) -> tensor<?x?x8xf16, #graph.dims<["B", "S", 8]>>
  func.return
}

// CHECK-LABEL: @pairs
func.func @pairs(%q: tensor<8x49x64xf32>) {
  // CHECK: graph.attention %q, %q, %q scale 1.250000e-01 pairs true : (
  %0 = graph.attention %q, %q, %q scale 0.125 pairs true : (tensor<8x49x64xf32>, tensor<8x49x64xf32>, tensor<8x49x64xf32>) -> tensor<8x49x64xf32>
  func.return
}
