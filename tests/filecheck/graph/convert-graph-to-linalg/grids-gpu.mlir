// RUN: stepwell-opt %s -p convert-graph-to-linalg | filecheck %s

// One grid of the device each. Pairs, longer keys and bytes keep the forms of CPUs.
builtin.module attributes {sched.target = #target.spec<"webgpu", {}>} {
  // CHECK: linalg_ext.grid_attention %{{.*}}, %{{.*}}, %{{.*}} into %{{.*}} mask %{{.*}} scale 5.000000e-01 zero_masked :
  func.func @attention(%q: tensor<2x64x8xf32>, %m: tensor<64xf32>) -> tensor<2x64x8xf32> {
    %0 = graph.fused (%p = %q : tensor<2x64x8xf32>, %n = %m : tensor<64xf32>) -> (tensor<2x64x8xf32>) {
      %1 = graph.attention %p, %p, %p mask %n : tensor<64xf32> scale 0.5 zero_masked true : (tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
      graph.yield %1 : tensor<2x64x8xf32>
    }
    func.return %0 : tensor<2x64x8xf32>
  }

  // CHECK: linalg_ext.attention
  func.func @long(%q: tensor<64x130xf32>) -> tensor<64x130xf32> {
    %0 = graph.fused (%p = %q : tensor<64x130xf32>) -> (tensor<64x130xf32>) {
      %1 = graph.attention %p, %p, %p scale 0.5 : (tensor<64x130xf32>, tensor<64x130xf32>, tensor<64x130xf32>) -> tensor<64x130xf32>
      graph.yield %1 : tensor<64x130xf32>
    }
    func.return %0 : tensor<64x130xf32>
  }

  // CHECK: linalg_ext.attention {{.*}} pairs
  func.func @pairs(%q: tensor<64x8xf32>) -> tensor<64x8xf32> {
    %0 = graph.fused (%p = %q : tensor<64x8xf32>) -> (tensor<64x8xf32>) {
      %1 = graph.attention %p, %p, %p scale 0.5 pairs true : (tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
      graph.yield %1 : tensor<64x8xf32>
    }
    func.return %0 : tensor<64x8xf32>
  }

  // CHECK: linalg_ext.grid_scan %{{.*}} into %{{.*}} kind "sum" axis 0 exclusive true reverse false :
  func.func @scan(%x: tensor<64x8xf32>) -> tensor<64x8xf32> {
    %0 = graph.fused (%p = %x : tensor<64x8xf32>) -> (tensor<64x8xf32>) {
      %1 = graph.scan %p kind "sum" axis 0 exclusive true reverse false : tensor<64x8xf32> -> tensor<64x8xf32>
      graph.yield %1 : tensor<64x8xf32>
    }
    func.return %0 : tensor<64x8xf32>
  }

  // CHECK: arith.extf
  // CHECK: linalg_ext.grid_scan {{.*}} : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
  // CHECK: arith.truncf
  func.func @scan_of_halves(%x: tensor<64x8xf16>) -> tensor<64x8xf16> {
    %0 = graph.fused (%p = %x : tensor<64x8xf16>) -> (tensor<64x8xf16>) {
      %1 = graph.scan %p kind "sum" axis 0 exclusive true reverse false : tensor<64x8xf16> -> tensor<64x8xf16>
      graph.yield %1 : tensor<64x8xf16>
    }
    func.return %0 : tensor<64x8xf16>
  }

  // CHECK: linalg_ext.scan
  func.func @scan_of_bytes(%x: tensor<64x8xi8>) -> tensor<64x8xi8> {
    %0 = graph.fused (%p = %x : tensor<64x8xi8>) -> (tensor<64x8xi8>) {
      %1 = graph.scan %p kind "sum" axis 0 exclusive true reverse false : tensor<64x8xi8> -> tensor<64x8xi8>
      graph.yield %1 : tensor<64x8xi8>
    }
    func.return %0 : tensor<64x8xi8>
  }
}
