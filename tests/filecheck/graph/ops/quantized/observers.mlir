// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @keys
func.func @keys(%x: tensor<?x64xf32, #graph.dims<["N", 64]>>, %w: tensor<64x32xf32>) {
  // CHECK: graph.observe %x key "layer1.0/Conv:0" role "activation" to ui8 : tensor<?x64xf32, #graph.dims<["N", 64]>>
  %0 = graph.observe %x key "layer1.0/Conv:0" role "activation" to ui8 : tensor<?x64xf32, #graph.dims<["N", 64]>> -> tensor<?x64xf32, #graph.dims<["N", 64]>>
  // CHECK: graph.observe %w key "a:1" role "weight" to i8 axis 1 : tensor<64x32xf32>
  %1 = graph.observe %w key "a:1" role "weight" to i8 axis 1 : tensor<64x32xf32> -> tensor<64x32xf32>
  // CHECK: graph.observe %w key "b:1" role "weight" to i4 axis 0 block 32 : tensor<64x32xf32>
  %2 = graph.observe %w key "b:1" role "weight" to i4 axis 0 block 32 : tensor<64x32xf32> -> tensor<64x32xf32>
  func.return
}

// Another function may have the same keys.
// CHECK-LABEL: @again
func.func @again(%x: tensor<4xf32>) {
  // CHECK: key "a:1" role "result"
  %0 = graph.observe %x key "a:1" role "result" to i8 : tensor<4xf32> -> tensor<4xf32>
  func.return
}
