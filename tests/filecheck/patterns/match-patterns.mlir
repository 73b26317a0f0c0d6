// RUN: stepwell-opt %s -p 'match-patterns' 2>&1 | filecheck %s
// RUN: stepwell-opt %s --explain-match=@relu_matmul 2>&1 | filecheck %s --check-prefix YES
// RUN: stepwell-opt %s --explain-match=@relu_conv 2>&1 | filecheck %s --check-prefix NO
// RUN: stepwell-opt %s --explain-match=@relu_conv:31 2>&1 | filecheck %s --check-prefix LINE
// RUN: not stepwell-opt %s --explain-match=@relu_conv:99 2>&1 | filecheck %s --check-prefix NO_LINE
// RUN: not stepwell-opt %s --explain-match=@relu_con 2>&1 | filecheck %s --check-prefix UNKNOWN

// CHECK: match of relu_matmul at graph.relu ({{.*}}match-patterns.mlir:{{.*}}:3): graph.matmul, graph.relu
// YES: @relu_matmul matches at graph.relu ({{.*}}match-patterns.mlir:{{.*}})
// NO: @relu_conv in @main: no match at graph.relu ({{.*}})
// NO-NEXT: %conv (graph.conv) fails at graph.matmul ({{.*}}): expected graph.conv, found graph.matmul
// LINE: @relu_conv in @main: no match at graph.tanh ({{.*}}:31:3)
// LINE-NEXT: %root (graph.relu) fails at graph.tanh ({{.*}}): expected graph.relu, found graph.tanh
// NO_LINE: no op has the location '99'
// UNKNOWN: no pattern is named @relu_con
// UNKNOWN: did you mean @relu_conv

pattern.def @relu_matmul {
  %matmul = pattern.op "graph.matmul"(...)
  %root = pattern.op "graph.relu"(%matmul)
  pattern.yield %root
}
pattern.def @relu_conv {
  %x = pattern.any
  %w = pattern.constant
  %conv = pattern.op "graph.conv"(%x, %w)
  %root = pattern.op "graph.relu"(%conv)
  pattern.yield %root
}
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %t = graph.tanh %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %m = graph.matmul %t, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = graph.relu %m : tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %r : tensor<4x4xf32>
}
