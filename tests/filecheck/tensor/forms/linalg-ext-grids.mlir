// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @on_tensors
func.func private @on_tensors(%q: tensor<2x8x?x8xf32>, %k: tensor<2x1x50x8xf32>, %v: tensor<50x4xf32>, %m: tensor<?x50xf32>, %e: tensor<2x8x?x4xf32>, %x: tensor<3x?xi64>) {
  // CHECK: linalg_ext.grid_attention %q, %k, %v into %e mask %m scale 1.250000e-01 zero_masked :
  %y = linalg_ext.grid_attention %q, %k, %v into %e mask %m scale 0.125 zero_masked : (tensor<2x8x?x8xf32>, tensor<2x1x50x8xf32>, tensor<50x4xf32>, tensor<2x8x?x4xf32>, tensor<?x50xf32>) -> tensor<2x8x?x4xf32>
  // CHECK: linalg_ext.grid_scan %x into %x kind "max" axis 1 exclusive true reverse false : (tensor<3x?xi64>, tensor<3x?xi64>) -> tensor<3x?xi64>
  %z = linalg_ext.grid_scan %x into %x kind "max" axis 1 exclusive true reverse false : (tensor<3x?xi64>, tensor<3x?xi64>) -> tensor<3x?xi64>
  func.return
}

// CHECK-LABEL: @on_buffers
func.func private @on_buffers(%q: memref<?x8xf32>, %e: memref<?x8xf32>, %x: memref<3x5xf32>) {
  // CHECK: linalg_ext.grid_attention %q, %q, %q into %e scale 1.000000e+00 {sched.schedule = #sched.schedule<levels = [<tile = [16, 0, 16], bind = "block">, <tile = [2, 0, 2], bind = "thread">], stage = [0, 1, 2]>} : (memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>) -> ()
  linalg_ext.grid_attention %q, %q, %q into %e scale 1.0 {sched.schedule = #sched.schedule<levels = [<tile = [16, 0, 16], bind = "block">, <tile = [2, 0, 2], bind = "thread">], stage = [0, 1, 2]>} : (memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>) -> ()
  // CHECK: linalg_ext.grid_scan %x into %x kind "sum" axis 0 exclusive false reverse true : (memref<3x5xf32>, memref<3x5xf32>) -> ()
  linalg_ext.grid_scan %x into %x kind "sum" axis 0 exclusive false reverse true : (memref<3x5xf32>, memref<3x5xf32>) -> ()
  func.return
}
