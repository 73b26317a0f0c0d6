// RUN: stepwell-opt %s -p 'convert-graph-to-linalg' --split-input-file | filecheck %s

// Leading dimensions are rows of a matrix.
// CHECK-LABEL: func.func private @k0
// CHECK: %[[X:.*]] = tensor.collapse_shape %a {{\[\[0 : i64, 1 : i64\], \[2 : i64\]\]}} : tensor<2x?x32xf32> into tensor<?x32xf32>
// CHECK: %[[INIT:.*]] = tensor.empty(%{{.*}}) : tensor<?x8xf32>
// CHECK: %[[Y:.*]] = linalg_ext.matmul_nbits %[[X]], %b, %t into %[[INIT]] zero_points %d : tensor<2x2x4xi8> bits 4 block 16 :
// CHECK: tensor.expand_shape %[[Y]] {{\[\[0 : i64, 1 : i64\], \[2 : i64\]\]}}
func.func @main(%x: tensor<2x?x32xf32, #graph.dims<[2, "S", 32]>>, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>, %z: tensor<2x2x4xui8>) -> tensor<2x?x8xf32, #graph.dims<[2, "S", 8]>> {
  %0 = graph.fused (%a = %x : tensor<2x?x32xf32, #graph.dims<[2, "S", 32]>>, %b = %c : tensor<2x4x4xi32>, %t = %s : tensor<2x2x4xf32>, %d = %z : tensor<2x2x4xui8>) -> (tensor<2x?x8xf32, #graph.dims<[2, "S", 8]>>) {
    %y = graph.matmul_nbits %a, %b, %t zero_points %d : tensor<2x2x4xui8> columns 8 bits 4 block 16 : (tensor<2x?x32xf32, #graph.dims<[2, "S", 32]>>, tensor<2x4x4xi32>, tensor<2x2x4xf32>) -> tensor<2x?x8xf32, #graph.dims<[2, "S", 8]>>
    graph.yield %y : tensor<2x?x8xf32, #graph.dims<[2, "S", 8]>>
  }
  func.return %0 : tensor<2x?x8xf32, #graph.dims<[2, "S", 8]>>
}

// -----

// A vector is one row.
// CHECK-LABEL: func.func private @k0
// CHECK: tensor.expand_shape %a
// CHECK: linalg_ext.matmul_nbits
// CHECK: tensor.collapse_shape {{.*}} into tensor<8xf32>
func.func @main(%x: tensor<32xf32>, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>) -> tensor<8xf32> {
  %0 = graph.fused (%a = %x : tensor<32xf32>, %b = %c : tensor<2x4x4xi32>, %t = %s : tensor<2x2x4xf32>) -> (tensor<8xf32>) {
    %y = graph.matmul_nbits %a, %b, %t columns 8 bits 4 block 16 : (tensor<32xf32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>) -> tensor<8xf32>
    graph.yield %y : tensor<8xf32>
  }
  func.return %0 : tensor<8xf32>
}
