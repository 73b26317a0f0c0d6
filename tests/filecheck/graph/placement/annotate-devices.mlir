// RUN: stepwell-opt %s -p 'annotate-devices{device=gpu0 table=products}' | filecheck %s
// RUN: stepwell-opt %s -p 'annotate-devices{device=gpu0 table=products},place-devices,annotate-target{by=device},merge-regions,partition-graph' | filecheck %s --check-prefix=PARTS

dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
pattern.def @relu_matmul {
  %matmul = pattern.op "graph.matmul"(...)
  %root = pattern.op "graph.relu"(%matmul)
  pattern.yield %root
}
pattern.def @tanh {
  %root = pattern.op "graph.tanh"(...)
  pattern.yield %root
}
pattern.table @products [@relu_matmul]
pattern.table @others [@tanh]

// All ops of a match are pinned, unless they have a device already; other tables count no more than none.
// CHECK-LABEL: @main
// CHECK: graph.tanh %x : tensor
// CHECK-NEXT: graph.matmul %t, %x {dev.on = @gpu0}
// CHECK-NEXT: graph.relu %m {dev.on = @gpu0}
// CHECK-NEXT: graph.matmul %r, %x {dev.on = @gpu1}
// CHECK-NEXT: graph.relu %n {dev.on = @gpu0}
// CHECK-NEXT: graph.relu %x : tensor

// The ops of a device become a function of its own, which the host calls.
// PARTS: dev.copy %{{.*}} from @host to @gpu0
// PARTS: graph.external @gpu0
// PARTS: dev.copy %{{.*}} from @gpu0 to @gpu1
// PARTS: graph.external @gpu1
func.func @main(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %t = graph.tanh %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %m = graph.matmul %t, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = graph.relu %m : tensor<4x4xf32> -> tensor<4x4xf32>
  %n = graph.matmul %r, %x {dev.on = @gpu1} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = graph.relu %n : tensor<4x4xf32> -> tensor<4x4xf32>
  %z = graph.relu %x : tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %s, %z : tensor<4x4xf32>, tensor<4x4xf32>
}
