// RUN: not stepwell-opt %s -p 'pin-supported-ops{device=gpu1}' 2>&1 | filecheck %s --check-prefix=DEVICE
// RUN: not stepwell-opt %s -p 'pin-supported-ops{device=gpu0 strict=true}' 2>&1 | filecheck %s

// DEVICE: error[bad-device]: the module has no device @gpu1
// CHECK: error[not-on-device]: 2 ops cannot be on gpu0: graph.cast of no node: buffers of webgpu have no elements of f64; graph.cast of no node: buffers of webgpu have no elements of f64
dev.device @gpu0 #target.spec<"webgpu", {}>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.cast %x to f64 saturate true round "nearest" : tensor<4xf32> -> tensor<4xf64>
  %z = graph.cast %y to f32 saturate true round "nearest" : tensor<4xf64> -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}
