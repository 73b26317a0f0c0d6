// RUN: stepwell-opt %s -p 'annotate-devices{auto device=gpu0 host-gflops=10 device-gflops=1000 link-gbytes=1}' | filecheck %s
// RUN: stepwell-opt %s -p 'annotate-devices{auto device=gpu0 host-gflops=10 device-gflops=1000 link-gbytes=1}' --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: not stepwell-opt %s -p 'annotate-devices{auto device=gpu0}' 2>&1 | filecheck %s --check-prefix=RATES

// RATES: error[bad-option]: auto of annotate-devices needs host-gflops, device-gflops, link-gbytes and device
// REMARK: 4 ops on gpu0 take {{.*}} us, not {{.*}}; 131072 bytes are copied in 131 us
dev.device @gpu0 #target.spec<"cuda", {}>

// Products gain more than their copies take, other ops go with them, and the pin is kept.
// CHECK-LABEL: @products
// CHECK: graph.tanh %x {dev.on = @gpu0}
// CHECK-NEXT: graph.matmul {{.*}} {dev.on = @gpu0}
// CHECK-NEXT: graph.tanh {{.*}} {dev.on = @gpu0}
// CHECK-NEXT: graph.matmul {{.*}} {dev.on = @gpu0}
// CHECK-NEXT: graph.exp {{.*}} {dev.on = @host}
func.func @products(%x: tensor<64x128xf32>, %w: tensor<128x128xf32>) -> tensor<64x128xf32> {
  %t = graph.tanh %x : tensor<64x128xf32> -> tensor<64x128xf32>
  %a = graph.matmul %t, %w : (tensor<64x128xf32>, tensor<128x128xf32>) -> tensor<64x128xf32>
  %b = graph.tanh %a : tensor<64x128xf32> -> tensor<64x128xf32>
  %d = graph.matmul %b, %w : (tensor<64x128xf32>, tensor<128x128xf32>) -> tensor<64x128xf32>
  %e = graph.exp %d {dev.on = @host} : tensor<64x128xf32> -> tensor<64x128xf32>
  func.return %e : tensor<64x128xf32>
}

// A sum is sooner done than copied.
// CHECK-LABEL: @sum
// CHECK-NOT: @gpu0
func.func @sum(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %y = graph.add %x, %x : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  func.return %y : tensor<64x128xf32>
}
