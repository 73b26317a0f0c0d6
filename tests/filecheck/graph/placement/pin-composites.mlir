// RUN: stepwell-opt %s -p 'pin-composites{table=npu device=npu0}' | filecheck %s
// RUN: stepwell-opt %s -p 'pin-composites{table=npu device=npu0 pinned=true}' | filecheck %s --check-prefix=RULES

dev.device @npu0 #target.spec<"npu", {}>

// Pins of inner ops go; a composite of another table is none of this pass's; ops of another device stay ops.
// CHECK-LABEL: @main
// CHECK: %a = graph.composite
// CHECK-SAME: dev.on = @npu0
// CHECK-NOT: graph.relu %{{.*}} {dev.on = @npu0}
// CHECK: %b = graph.composite
// CHECK-SAME: dev.on = @npu0
// CHECK: %c = graph.exp %b {dev.on = @host}
// CHECK: %d = graph.composite
// CHECK-NOT: dev.on
// CHECK: func.return

// With rules an accelerator computes what these give it, and nothing else.
// RULES-LABEL: @main
// RULES: %a = graph.composite
// RULES-SAME: dev.on = @npu0
// RULES: %b = graph.relu %a : tensor
// RULES: %c = graph.exp %b {dev.on = @host}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.composite (%0 = %x : tensor<4xf32>) -> (tensor<4xf32>) attributes {pattern = "npu.add"} {
    %r = graph.relu %0 {dev.on = @npu0} : tensor<4xf32> -> tensor<4xf32>
    graph.yield %r : tensor<4xf32>
  }
  %b = graph.composite (%1 = %a : tensor<4xf32>) -> (tensor<4xf32>) attributes {pattern = "npu.conv2d"} {
    %s = graph.relu %1 : tensor<4xf32> -> tensor<4xf32>
    graph.yield %s : tensor<4xf32>
  }
  %c = graph.composite (%2 = %b : tensor<4xf32>) -> (tensor<4xf32>) attributes {pattern = "npu.add"} {
    %t = graph.exp %2 {dev.on = @host} : tensor<4xf32> -> tensor<4xf32>
    graph.yield %t : tensor<4xf32>
  }
  %d = graph.composite (%3 = %c : tensor<4xf32>) -> (tensor<4xf32>) attributes {pattern = "other"} {
    %u = graph.exp %3 : tensor<4xf32> -> tensor<4xf32>
    graph.yield %u : tensor<4xf32>
  }
  func.return %d : tensor<4xf32>
}
