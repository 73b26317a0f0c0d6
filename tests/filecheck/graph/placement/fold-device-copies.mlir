// RUN: stepwell-opt %s -p fold-device-copies | filecheck %s

dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>

// A copy there and back is the value; it is the same with other devices between.
// CHECK-LABEL: @there_and_back
func.func @there_and_back(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = dev.copy %x from @host to @gpu0 : tensor<4xf32>
  %b = dev.copy %a from @gpu0 to @gpu1 : tensor<4xf32>
  %c = dev.copy %b from @gpu1 to @host : tensor<4xf32>
  // CHECK-NEXT: func.return %x
  func.return %c : tensor<4xf32>
}

// CHECK-LABEL: @through_another
func.func @through_another(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = dev.copy %x from @gpu0 to @host : tensor<4xf32>
  %b = dev.copy %a from @host to @gpu1 : tensor<4xf32>
  // CHECK-NEXT: %[[B:.*]] = dev.copy %x from @gpu0 to @gpu1
  // CHECK-NEXT: func.return %[[B]]
  func.return %b : tensor<4xf32>
}

// CHECK-LABEL: @constants
func.func @constants() -> tensor<f32> {
  %k = graph.constant dense<2.0> : tensor<f32>
  // CHECK-NEXT: %[[K:.*]] = graph.constant {dev.on = @gpu1} dense<2.000000e+00> : tensor<f32>
  // CHECK-NEXT: func.return %[[K]]
  %c = dev.copy %k from @host to @gpu1 : tensor<f32>
  func.return %c : tensor<f32>
}

// What both devices read is copied.
// CHECK-LABEL: @needed
func.func @needed(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: dev.copy %x from @host to @gpu0
  %a = dev.copy %x from @host to @gpu0 : tensor<4xf32>
  // CHECK-NEXT: graph.exp
  %e = graph.exp %a {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  func.return %a, %e : tensor<4xf32>, tensor<4xf32>
}
