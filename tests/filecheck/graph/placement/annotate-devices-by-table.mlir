// RUN: stepwell-opt %s -p 'annotate-devices{file="%S/rules.mlir" by=table}' | filecheck %s
// RUN: not stepwell-opt %s -p 'annotate-devices{by=table}' 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not stepwell-opt %s -p 'annotate-devices{file="%S/rules.mlir" by=name}' 2>&1 | filecheck %s --check-prefix=BY

// Each table is for the device of its name; an op that two tables match is on the first one's.
// NONE: error[bad-pattern]: the rules have no pattern.table, and each table is for the device of its name
// BY: error[bad-option]: by of annotate-devices is table, found 'name'
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
// CHECK-LABEL: @main
// CHECK: graph.tanh %x {dev.on = @gpu1}
// CHECK-NEXT: graph.exp %t {dev.on = @gpu0}
// CHECK-NEXT: graph.neg %e {dev.on = @host}
// CHECK-NEXT: graph.relu %n : tensor
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %t = graph.tanh %x : tensor<4xf32> -> tensor<4xf32>
  %e = graph.exp %t : tensor<4xf32> -> tensor<4xf32>
  %n = graph.neg %e : tensor<4xf32> -> tensor<4xf32>
  %r = graph.relu %n : tensor<4xf32> -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}
