// RUN: stepwell-opt %s -p 'legalize{set=kernels}' --split-input-file | filecheck %s

builtin.module attributes {sched.target = #target.spec<"opencl", {}>} {
// CHECK-LABEL: @one_grid
// CHECK: graph.attention
func.func @one_grid(%q: tensor<2x64x16xf32>) -> tensor<2x64x16xf32> {
  %y = graph.attention %q, %q, %q scale 0.25 : (tensor<2x64x16xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>) -> tensor<2x64x16xf32>
  func.return %y : tensor<2x64x16xf32>
}

// CHECK-LABEL: @long_keys
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
func.func @long_keys(%q: tensor<64x130xf32>, %v: tensor<64x16xf32>) -> tensor<64x16xf32> {
  %y = graph.attention %q, %q, %v scale 0.25 : (tensor<64x130xf32>, tensor<64x130xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  func.return %y : tensor<64x16xf32>
}

// CHECK-LABEL: @a_step
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
func.func @a_step(%q: tensor<1x16xf32>, %k: tensor<64x16xf32>) -> tensor<1x16xf32> {
  %y = graph.attention %q, %k, %k scale 0.25 : (tensor<1x16xf32>, tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<1x16xf32>
  func.return %y : tensor<1x16xf32>
}

// CHECK-LABEL: @halves
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
func.func @halves(%q: tensor<64x16xf16>) -> tensor<64x16xf16> {
  %y = graph.attention %q, %q, %q scale 0.25 : (tensor<64x16xf16>, tensor<64x16xf16>, tensor<64x16xf16>) -> tensor<64x16xf16>
  func.return %y : tensor<64x16xf16>
}

// CHECK-LABEL: @pairs
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
func.func @pairs(%q: tensor<64x16xf32>) -> tensor<64x16xf32> {
  %y = graph.attention %q, %q, %q scale 0.25 pairs true : (tensor<64x16xf32>, tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  func.return %y : tensor<64x16xf32>
}
}

// -----

// Blocks of this one have no room for tiles.
// CHECK-LABEL: @small
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
builtin.module attributes {sched.target = #target.spec<"opencl", {"shared-memory" = 8192}>} {
func.func @small(%q: tensor<64x16xf32>) -> tensor<64x16xf32> {
  %y = graph.attention %q, %q, %q scale 0.25 : (tensor<64x16xf32>, tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  func.return %y : tensor<64x16xf32>
}
}
