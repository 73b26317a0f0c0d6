// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @nbits
func.func @nbits(%x: tensor<?x80xf32, #graph.dims<["M", 80]>>, %c: tensor<2x12x32xi32>, %s: tensor<2x3x32xf32>, %z: tensor<2x3x32xui8>, %q: tensor<4x24xi32>, %t: tensor<4x3xf32>) {
  // CHECK: graph.matmul_nbits %x, %c, %s columns 60 bits 4 block 32 : ({{.*}}) -> tensor<?x60xf32, #graph.dims<["M", 60]>>
  %0 = graph.matmul_nbits %x, %c, %s columns 60 bits 4 block 32 : (tensor<?x80xf32, #graph.dims<["M", 80]>>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<?x60xf32, #graph.dims<["M", 60]>>
  // CHECK: graph.matmul_nbits %x, %c, %s zero_points %z : tensor<2x3x32xui8> columns 60 bits 4 block 32 :
  %1 = graph.matmul_nbits %x, %c, %s zero_points %z : tensor<2x3x32xui8> columns 60 bits 4 block 32 : (tensor<?x80xf32, #graph.dims<["M", 80]>>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<?x60xf32, #graph.dims<["M", 60]>>
  // CHECK: graph.matmul_nbits %q, %c, %s x_scales %t : tensor<4x3xf32> columns 60 bits 4 block 32 :
  %2 = graph.matmul_nbits %q, %c, %s x_scales %t : tensor<4x3xf32> columns 60 bits 4 block 32 : (tensor<4x24xi32>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<4x60xf32>
  func.return
}
