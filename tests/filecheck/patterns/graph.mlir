// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s -p match-patterns 2>&1 | filecheck %s --check-prefix MATCH

// CHECK: pattern.graph @diamond {
// CHECK:   pattern.edge %source -> %left
// CHECK:   pattern.edge %left -> %join operand 0 only
// CHECK:   pattern.same_shape %left, %join
// CHECK:   pattern.bind %source, %left, %right, %join
// MATCH: match of diamond: graph.relu ({{.*}}graph.mlir:{{.*}}), graph.tanh ({{.*}}), graph.neg ({{.*}}), graph.add ({{.*}})
pattern.graph @diamond {
  %source = pattern.op "graph.relu"
  %left = pattern.op "graph.tanh"
  %right = pattern.op "graph.neg"
  %join = pattern.op "graph.add"(...)
  pattern.edge %source -> %left
  pattern.edge %source -> %right
  pattern.edge %left -> %join operand 0 only
  pattern.edge %right -> %join operand 1 only
  pattern.same_shape %left, %join
  pattern.bind %source, %left, %right, %join
}

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  %b = graph.tanh %a : tensor<4xf32> -> tensor<4xf32>
  %c = graph.neg %a : tensor<4xf32> -> tensor<4xf32>
  %d = graph.add %b, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %d : tensor<4xf32>
}
