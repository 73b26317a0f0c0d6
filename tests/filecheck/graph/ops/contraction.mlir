// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @matmul
func.func @matmul(%a: tensor<?x49x64xf32, #graph.dims<["N", 49, 64]>>, %b: tensor<64x32xf32>, %c: tensor<32x64xf32>, %d: tensor<2x64x16xf32>, %v: tensor<64xf32>) {
  // CHECK: graph.matmul %a, %b : (tensor<?x49x64xf32, #graph.dims<["N", 49, 64]>>, tensor<64x32xf32>) -> tensor<?x49x32xf32, #graph.dims<["N", 49, 32]>>
  %0 = graph.matmul %a, %b : (tensor<?x49x64xf32, #graph.dims<["N", 49, 64]>>, tensor<64x32xf32>) -> tensor<?x49x32xf32, #graph.dims<["N", 49, 32]>>
  // CHECK: graph.matmul %a, %c transpose_b true :
  %1 = graph.matmul %a, %c transpose_b true : (tensor<?x49x64xf32, #graph.dims<["N", 49, 64]>>, tensor<32x64xf32>) -> tensor<?x49x32xf32, #graph.dims<["N", 49, 32]>>
  // CHECK: graph.matmul %a, %d packing 16 :
  %2 = graph.matmul %a, %d packing 16 : (tensor<?x49x64xf32, #graph.dims<["N", 49, 64]>>, tensor<2x64x16xf32>) -> tensor<?x49x32xf32, #graph.dims<["N", 49, 32]>>
  // CHECK: graph.matmul %v, %b out_type f64 : (tensor<64xf32>, tensor<64x32xf32>) -> tensor<32xf64>
  %3 = graph.matmul %v, %b out_type f64 : (tensor<64xf32>, tensor<64x32xf32>) -> tensor<32xf64>
  func.return
}

// CHECK-LABEL: @bias
func.func @bias(%x: tensor<1x64x7x7xf32>, %b: tensor<64xf32>, %u: tensor<1x4x7x7x16xf32>, %c: tensor<4x16xf32>) {
  // CHECK: graph.bias_add %x, %b axis 1 : (tensor<1x64x7x7xf32>, tensor<64xf32>) -> tensor<1x64x7x7xf32>
  %0 = graph.bias_add %x, %b axis 1 : (tensor<1x64x7x7xf32>, tensor<64xf32>) -> tensor<1x64x7x7xf32>
  // CHECK: graph.bias_add %u, %c axis 1 :
  %1 = graph.bias_add %u, %c axis 1 : (tensor<1x4x7x7x16xf32>, tensor<4x16xf32>) -> tensor<1x4x7x7x16xf32>
  func.return
}

// CHECK-LABEL: @integers
func.func @integers(%a: tensor<?x4x8xui8, #graph.dims<["N", 4, 8]>>, %b: tensor<8x3xi8>, %p: tensor<ui8>, %q: tensor<1x3xi8>) {
  // CHECK: graph.matmul_integer %a, %b a_zero_point %p : tensor<ui8> b_zero_point %q : tensor<1x3xi8> : ({{.*}}) -> tensor<?x4x3xi32, #graph.dims<["N", 4, 3]>>
  %0 = graph.matmul_integer %a, %b a_zero_point %p : tensor<ui8> b_zero_point %q : tensor<1x3xi8> : (tensor<?x4x8xui8, #graph.dims<["N", 4, 8]>>, tensor<8x3xi8>) -> tensor<?x4x3xi32, #graph.dims<["N", 4, 3]>>
  func.return
}
