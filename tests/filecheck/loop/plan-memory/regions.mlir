// RUN: stepwell-opt %s -p plan-memory | filecheck %s

// Both branches write the result's buffer, in which the loop goes on and which is the output: the kernel of one
// directly, a copy in the other.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[0-9]+]]: memref<4xf32>, %[[C:[0-9]+]]: memref<i1>, %[[N:[0-9]+]]: memref<i64>, %[[Y:[0-9]+]]: memref<4xf32>
// CHECK: %[[CONDITION:.*]] = memref.load %[[C]][] : memref<i1>
// CHECK-NEXT: scf.if %[[CONDITION]] {
// CHECK-NEXT: func.call @k0(%[[X]], %[[Y]])
// CHECK-NEXT: } else {
// CHECK-NEXT: "memref.copy"(%[[X]], %[[Y]])
// CHECK-NEXT: }

// A kernel writes the next value in the place of the carried one when all has been read.
// CHECK: %[[LOADED:.*]] = memref.load %[[N]][] : memref<i64>
// CHECK-NEXT: %[[COUNT:.*]] = arith.index_cast %[[LOADED]] : i64 to index
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[COUNT]] step %{{.*}} {
// CHECK: %[[NUMBER:.*]] = arith.index_cast %[[I]] : index to i64
// CHECK-NEXT: memref.store %[[NUMBER]], %[[PLACE:.*]][] : memref<i64>
// CHECK: func.call @k0(%[[Y]], %[[T:[0-9]+]])
// CHECK: func.call @k0(%[[T]], %[[Y]])
// CHECK-NEXT: }
func.func @main(%x: tensor<4xf32>, %c: tensor<i1>, %n: tensor<i64>) -> tensor<4xf32> {
  %r = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
    %a = func.call @k0(%x) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %a : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  }
  %y = graph.for %i to %n (%v = %r : tensor<4xf32>) -> (tensor<4xf32>) {
    %t = func.call @k0(%v) : (tensor<4xf32>) -> tensor<4xf32>
    %w = func.call @k0(%t) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %w : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
func.func private @k0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  func.return %x : tensor<4xf32>
}
