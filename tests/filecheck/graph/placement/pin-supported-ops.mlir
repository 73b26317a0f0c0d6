// RUN: stepwell-opt %s -p 'pin-supported-ops{device=gpu0}' | filecheck %s
// RUN: stepwell-opt %s -p 'pin-supported-ops{device=gpu0},place-devices{default=gpu0},remove-placement' | filecheck %s --check-prefix=GONE

dev.device @gpu0 #target.spec<"webgpu", {}>

// A pin stays; f64 is not of WebGPU; indices that are not constant are checked by the host.
// CHECK-LABEL: @main
// CHECK: graph.relu %x {dev.on = @gpu0}
// CHECK: graph.cast {{.*}}{dev.on = @host}
// CHECK: graph.tanh {{.*}}{dev.on = @host}
// CHECK: graph.gather {{.*}}{dev.on = @host}
// GONE-LABEL: @main
// GONE-NOT: dev.on
// GONE-NOT: dev.copy
func.func @main(%x: tensor<4xf32>, %i: tensor<2xi32>) -> (tensor<4xf64>, tensor<4xf32>, tensor<2xf32>) {
  %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  %z = graph.cast %y to f64 saturate true round "nearest" : tensor<4xf32> -> tensor<4xf64>
  %t = graph.tanh %y {dev.on = @host} : tensor<4xf32> -> tensor<4xf32>
  %g = graph.gather %y, %i axis 0 batch_dims 0 bounds "check" : (tensor<4xf32>, tensor<2xi32>) -> tensor<2xf32>
  func.return %z, %t, %g : tensor<4xf64>, tensor<4xf32>, tensor<2xf32>
}
