// RUN: stepwell-opt %s --explain-match=@between 2>&1 | filecheck %s

// The op that leaves the path, and the one that takes it past the child.
// CHECK: @between in @left: no match at graph.add ({{.*}}:24:3)
// CHECK-NEXT: %root (graph.add as a dominator) fails at graph.relu ({{.*}}:22:3): graph.neg ({{.*}}:25:3) uses it too, which leads past graph.add
// CHECK: @between in @source: no match at graph.add ({{.*}}:32:3)
// CHECK-NEXT: %root (graph.add as a dominator) fails at graph.tanh ({{.*}}:30:3): a way starts here, which does not come from graph.matmul ({{.*}}:31:3)
// CHECK: @between in @other: no match at graph.add ({{.*}}:38:3)
// CHECK-NEXT: %path (trait:elementwise) fails at graph.softmax ({{.*}}:37:3): expected trait:elementwise, found graph.softmax
pattern.def @between {
  %parent = pattern.op "graph.matmul"(...)
  %path = pattern.op "trait:elementwise"(...)
  %child = pattern.op "graph.add"(...)
  %root = pattern.dominates %parent, %path, %child
  pattern.yield %root
}



func.func @left(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %m = graph.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = graph.relu %m : tensor<4x4xf32> -> tensor<4x4xf32>
  %t = graph.tanh %m : tensor<4x4xf32> -> tensor<4x4xf32>
  %a = graph.add %r, %t : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %n = graph.neg %r : tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %a, %n : tensor<4x4xf32>, tensor<4x4xf32>
}

func.func @source(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %t = graph.tanh %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %m = graph.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %a = graph.add %t, %m : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %a : tensor<4x4xf32>
}
func.func @other(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %m = graph.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = graph.softmax %m axis 1 : tensor<4x4xf32> -> tensor<4x4xf32>
  %a = graph.add %s, %m : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %a : tensor<4x4xf32>
}
