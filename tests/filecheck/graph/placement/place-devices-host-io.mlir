// RUN: stepwell-opt %s -p 'place-devices{default=gpu0}' | filecheck %s
// RUN: stepwell-opt %s -p 'place-devices{default=gpu0},place-devices{default=gpu0}' | filecheck %s

// Parameters and results of @main are the host's: four copies in, one out.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @host}, %b: tensor<4xf32> {dev.on = @host}, %c: tensor<4xf32> {dev.on = @host}, %d: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @host}) {
// CHECK-NEXT: dev.copy %a from @host to @gpu0
// CHECK-NEXT: dev.copy %b from @host to @gpu0
// CHECK-NEXT: %s = graph.add %0, %1 {dev.on = @gpu0}
// CHECK-NEXT: dev.copy %c from @host to @gpu0
// CHECK-NEXT: dev.copy %d from @host to @gpu0
// CHECK-NEXT: %t = graph.add %2, %3 {dev.on = @gpu0}
// CHECK-NEXT: %y = graph.subtract %s, %t {dev.on = @gpu0}
// CHECK-NEXT: dev.copy %y from @gpu0 to @host
// CHECK-NEXT: func.return
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = graph.add %c, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.subtract %s, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
