// RUN: stepwell-opt %s -p bufferize | filecheck %s

// The scan is written in the output, attention after it in a buffer of its own: the scan reads all of it.
// CHECK-LABEL: @both
// CHECK-SAME: (%q: memref<64x8xf32>, %[[OUT:[a-z0-9]+]]: memref<64x8xf32>
// CHECK: linalg_ext.grid_attention %q, %q, %q into %[[Y:.*]] scale 5.000000e-01 : (memref<64x8xf32>, memref<64x8xf32>, memref<64x8xf32>, memref<64x8xf32{{.*}}>) -> ()
// CHECK: linalg_ext.grid_scan %[[Y]] into %[[OUT]] kind "sum" axis 0 exclusive false reverse false
// CHECK-NOT: tensor
func.func private @both(%q: tensor<64x8xf32>) -> tensor<64x8xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %e = tensor.empty() : tensor<64x8xf32>
  %y = linalg_ext.grid_attention %q, %q, %q into %e scale 0.5 : (tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
  %z = linalg_ext.grid_scan %y into %e kind "sum" axis 0 exclusive false reverse false : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
  func.return %z : tensor<64x8xf32>
}
