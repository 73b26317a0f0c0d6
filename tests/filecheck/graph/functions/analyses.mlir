// RUN: stepwell-opt %s -p 'count-macs' 2>&1 | filecheck %s --check-prefix MACS
// RUN: stepwell-opt %s -p 'CountMacs{json=true}' 2>&1 | filecheck %s --check-prefix MACS-JSON
// RUN: stepwell-opt %s -p 'count-params' 2>&1 | filecheck %s --check-prefix PARAMS
// RUN: stepwell-opt %s -p 'CountParams{json=true}' 2>&1 | filecheck %s --check-prefix PARAMS-JSON
// RUN: stepwell-opt %s -p 'detect-features' 2>&1 | filecheck %s --check-prefix FEATURES
// RUN: stepwell-opt %s -p 'DetectFeatures{json=true}' 2>&1 | filecheck %s --check-prefix FEATURES-JSON
// RUN: stepwell-opt %s -p 'extract-fused-functions' 2>&1 | filecheck %s --check-prefix FUSED
// RUN: stepwell-opt %s -p 'ExtractFusedFunctions{json=true}' 2>&1 | filecheck %s --check-prefix FUSED-JSON

// 8x4x3x3 weights at 6x6 pixels, of two images; with 4 groups 16x1x3x3.
// MACS: 20736 graph.conv at
// MACS-NEXT: 10368 graph.conv at
// MACS-NEXT: 512 * N graph.matmul at
// MACS-NEXT: 512 * N graph.matmul at
// MACS-NEXT: 1024 * N + 31104 multiply-adds
// MACS-JSON: {"total": "1024 * N + 31104", "ops": [{"op": "graph.conv", "at": "
// PARAMS: 513 parameters in 2 tensors, 2052 bytes
// PARAMS-JSON: {"tensors": 2, "elements": 513, "bytes": 2052}
// FEATURES: features: constant, dynamic-shape, if, kernel, sharing
// FEATURES-JSON: ["constant", "dynamic-shape", "if", "kernel", "sharing"]
// FUSED: func.func @main_0(%{{.*}}: tensor<2x3xf32>) -> tensor<2x3xf32> {
// FUSED-NEXT: graph.relu
// FUSED-NEXT: func.return
// FUSED-NOT: func.func @main_1
// FUSED-JSON: {"main_0": "func.func @main_0(
func.func @main(%image: tensor<2x4x8x8xf32>, %w: tensor<8x4x3x3xf32>, %g: tensor<16x1x3x3xf32>,
                %a: tensor<?x32xf32, #graph.dims<["N", 32]>>, %x: tensor<2x3xf32>, %c: tensor<i1>) -> tensor<2x3xf32> {
  %conv = graph.conv %image, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0]
      : (tensor<2x4x8x8xf32>, tensor<8x4x3x3xf32>) -> tensor<2x8x6x6xf32>
  %grouped = graph.conv %image, %g strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 4
      : (tensor<2x4x8x8xf32>, tensor<16x1x3x3xf32>) -> tensor<2x16x6x6xf32>
  %b = graph.constant #graph.weight<"w", "9f86", tensor<32x16xf32>> : tensor<32x16xf32>
  %again = graph.constant #graph.weight<"v", "9f86", tensor<32x16xf32>> : tensor<32x16xf32>
  %one = graph.constant dense<1.0> : tensor<1xf32>
  %m = graph.matmul %a, %b : (tensor<?x32xf32, #graph.dims<["N", 32]>>, tensor<32x16xf32>) -> tensor<?x16xf32, #graph.dims<["N", 16]>>
  %n = graph.matmul %a, %again : (tensor<?x32xf32, #graph.dims<["N", 32]>>, tensor<32x16xf32>) -> tensor<?x16xf32, #graph.dims<["N", 16]>>
  %y = graph.if %c : tensor<i1> -> (tensor<2x3xf32>) {
    %r = graph.fused (%p = %x : tensor<2x3xf32>) -> (tensor<2x3xf32>) {
      %q = graph.relu %p : tensor<2x3xf32> -> tensor<2x3xf32>
      graph.yield %q : tensor<2x3xf32>
    }
    graph.yield %r : tensor<2x3xf32>
  } else {
    %r = graph.fused (%p = %x : tensor<2x3xf32>) -> (tensor<2x3xf32>) {
      %q = graph.relu %p : tensor<2x3xf32> -> tensor<2x3xf32>
      graph.yield %q : tensor<2x3xf32>
    }
    graph.yield %r : tensor<2x3xf32>
  }
  func.return %y : tensor<2x3xf32>
}
