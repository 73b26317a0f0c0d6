// RUN: stepwell-opt %s -p 'rewrite-patterns' | filecheck %s
// RUN: stepwell-opt %s -p 'rewrite-patterns,rewrite-patterns' | filecheck %s

pattern.rule @drop_double_neg {
  %x = pattern.any
  %inner = pattern.op "graph.neg"(%x)
  %root = pattern.op "graph.neg"(%inner)
  pattern.replace %root, %x
}
pattern.rule @conv_to_acme {
  %x = pattern.any
  %w = pattern.any
  %conv = pattern.op "graph.matmul"(%x, %w)
  %root = pattern.op "graph.relu"(%conv)
  %new = pattern.make "graph.matmul"(%w, %x) {transpose_a = #pattern.from<%conv, "transpose_b">}
  pattern.replace %root, %new
}

// CHECK-LABEL: @twice
// CHECK-NEXT: func.return %{{x.*}}
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.neg %x : tensor<4xf32> -> tensor<4xf32>
  %b = graph.neg %a : tensor<4xf32> -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}
// CHECK-LABEL: @made
// CHECK-NEXT: %[[M:.*]] = graph.matmul %{{w.*}}, %{{x.*}} transpose_a true
// CHECK-NEXT: func.return %[[M]]
func.func @made(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = graph.matmul %x, %w transpose_b true : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = graph.relu %a : tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %b : tensor<4x4xf32>
}
