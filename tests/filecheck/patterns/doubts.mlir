// RUN: stepwell-opt %s --remarks -p match-patterns 2>&1 | filecheck %s
// RUN: not stepwell-opt %s -p rewrite-patterns 2>&1 | filecheck %s --check-prefix NO-RULE

// What can never match is said, and is no error: the ops may come later.
// CHECK-DAG: graph.conv has no attribute stride: did you mean strides?
// CHECK-DAG: %y of pattern.has_dtype is not used: nothing asks for it
// CHECK-DAG: graph.relu takes 1 operand, found 2: it never matches
// CHECK-DAG: graph.clip takes 1 to 3 operands, found 4: it never matches
// CHECK-NOT: graph.concat takes
// CHECK-NOT: no attribute acme
// NO-RULE: there is no pattern.rule

pattern.def @attribute {
  %root = pattern.op "graph.conv"(...) {stride = [2, 2], acme.pads = 1}
  pattern.yield %root
}
pattern.def @unread {
  %x = pattern.any
  %y = pattern.has_dtype %x "f32"
  %root = pattern.op "graph.neg"(%x)
  pattern.yield %root
}
pattern.def @operands {
  %x = pattern.any
  %root = pattern.op "graph.relu"(%x, %x)
  pattern.yield %root
}
pattern.def @optional_operands {
  %x = pattern.any
  %root = pattern.op "graph.clip"(%x, %x, %x, %x)
  pattern.yield %root
}
pattern.def @any_number {
  %x = pattern.any
  %root = pattern.op "graph.concat"(%x, %x, %x)
  pattern.yield %root
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
