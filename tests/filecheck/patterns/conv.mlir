// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: pattern.def @conv_bias_relu
pattern.def @conv_bias_relu {
  %x = pattern.any
  %w = pattern.any
  %b = pattern.any
  // CHECK: %conv = pattern.op "graph.conv"(%x, %w) {groups = 1 : i64}
  %conv = pattern.op "graph.conv"(%x, %w) {groups = 1 : i64}
  %bias = pattern.op "graph.bias_add"(%conv, %b)
  // CHECK: pattern.optional %bias {
  %root = pattern.optional %bias {
  ^bb0(%c: !pattern.node):
    %relu = pattern.op "graph.relu"(%c)
    pattern.yield %relu
  }
  pattern.yield %root
}
pattern.def @conv {
  %root = pattern.op "graph.conv"(...)
  pattern.yield %root
}
// CHECK: pattern.table @acme [@conv_bias_relu, @conv]
pattern.table @acme [@conv_bias_relu, @conv]
