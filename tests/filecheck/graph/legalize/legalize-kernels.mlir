// RUN: stepwell-opt %s -p 'legalize{set=kernels}' | filecheck %s
// RUN: stepwell-opt %s -p 'legalize{set=kernels},legalize{set=kernels}' | filecheck %s

// A kernel of its own takes f32 and enough queries.
// CHECK-LABEL: @stays
// CHECK-NEXT: graph.attention
// CHECK-NEXT: func.return
func.func @stays(%x: tensor<32x8xf32>) -> tensor<32x8xf32> {
  %y = graph.attention %x, %x, %x scale 0.5 : (tensor<32x8xf32>, tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<32x8xf32>
  func.return %y : tensor<32x8xf32>
}

// CHECK-LABEL: @narrow
// CHECK: %[[K:.*]] = graph.transpose %x perm [1, 0]
// CHECK: graph.cast %x to f32
// CHECK: %[[L:.*]] = graph.cast %[[K]] to f32
// CHECK: %[[S:.*]] = graph.matmul %{{.*}}, %[[L]] :
// CHECK: %[[T:.*]] = graph.multiply %[[S]]
// CHECK: %[[M:.*]] = graph.cast %m to f32
// CHECK: %[[U:.*]] = graph.add %[[T]], %[[M]]
// CHECK: %[[P:.*]] = graph.softmax %[[U]] axis 1
// CHECK: %[[Y:.*]] = graph.matmul %[[P]], %{{.*}} : (tensor<16x16xf32>, tensor<16x8xf32>)
// CHECK: graph.cast %[[Y]] to f16
func.func @narrow(%x: tensor<16x8xf16>, %m: tensor<16xf16>) -> tensor<16x8xf16> {
  %y = graph.attention %x, %x, %x mask %m : tensor<16xf16> scale 0.5 : (tensor<16x8xf16>, tensor<16x8xf16>, tensor<16x8xf16>) -> tensor<16x8xf16>
  func.return %y : tensor<16x8xf16>
}

// CHECK-LABEL: @zero_masked
// CHECK: %[[P:.*]] = graph.softmax %[[S:.*]] axis 1
// CHECK: %[[TOP:.*]] = graph.reduce %[[S]] kind "max" axes [1] keep_dims true
// CHECK: %[[IS:.*]] = graph.equal %[[TOP]]
// CHECK: %[[W:.*]] = graph.where %[[IS]], %{{.*}}, %[[P]]
// CHECK: graph.matmul %[[W]], %x
func.func @zero_masked(%x: tensor<3x8xf32>, %m: tensor<3x3xf32>) -> tensor<3x8xf32> {
  %y = graph.attention %x, %x, %x mask %m : tensor<3x3xf32> scale 0.5 zero_masked true : (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  func.return %y : tensor<3x8xf32>
}

// Keys of several queries are transposed by a copy, which merges with the transpose that splits heads.
// CHECK-LABEL: @copied_keys
// CHECK: %[[K:.*]] = graph.transpose %k perm [0, 2, 3, 1]
// CHECK: graph.matmul %q, %[[K]] : (tensor<2x4x20x8xf32>, tensor<2x4x8x20xf32>)
func.func @copied_keys(%q: tensor<2x4x20x8xf32>, %k: tensor<2x20x4x8xf32>, %v: tensor<2x4x20x8xf32>) -> tensor<2x4x20x8xf32> {
  %t = graph.transpose %k perm [0, 2, 1, 3] : tensor<2x20x4x8xf32> -> tensor<2x4x20x8xf32>
  %y = graph.attention %q, %t, %v scale 0.5 : (tensor<2x4x20x8xf32>, tensor<2x4x20x8xf32>, tensor<2x4x20x8xf32>) -> tensor<2x4x20x8xf32>
  func.return %y : tensor<2x4x20x8xf32>
}

// A step of a decoder reads its cache in place.
// CHECK-LABEL: @one_query
// CHECK-NOT: graph.transpose
// CHECK: graph.matmul %q, %k transpose_b true
func.func @one_query(%q: tensor<4x1x8xf32>, %k: tensor<4x512x8xf32>) -> tensor<4x1x8xf32> {
  %y = graph.attention %q, %k, %k scale 0.5 : (tensor<4x1x8xf32>, tensor<4x512x8xf32>, tensor<4x512x8xf32>) -> tensor<4x1x8xf32>
  func.return %y : tensor<4x1x8xf32>
}
