// RUN: stepwell-opt %s -p plan-memory --split-input-file | filecheck %s --check-prefixes=CHECK,PLAN
// RUN: stepwell-opt %s -p plan-memory{keep} --split-input-file | filecheck %s --check-prefixes=CHECK,KEEP

// An iteration copies a row to its place in the buffer that the loop carries, and nothing else.
// CHECK-LABEL: func.func @main(
// CHECK: "memref.copy"(%0, %2) : (memref<8x4xf32>, memref<8x4xf32>) -> ()
// CHECK: scf.for
// PLAN-NOT: memref<8x4xf32>) -> ()
// KEEP: "memref.copy"(%2, %[[NEW:.*]]) : (memref<8x4xf32>, memref<8x4xf32>) -> ()
// PLAN: %[[AT:.*]] = arith.muli
// PLAN: %[[ROW:.*]] = memref.reinterpret_cast %2 to offset: [%[[AT]]], sizes: [1, 4], strides: [4, 1] : memref<8x4xf32> to memref<1x4xf32, strided<[4, 1], offset: ?>>
// PLAN-NEXT: "memref.copy"(%1, %[[ROW]])
// PLAN-NEXT: }
func.func @main(%t: tensor<8x4xf32>, %r: tensor<1x4xf32>) -> tensor<8x4xf32> {
  %n = graph.constant dense<8> : tensor<i64>
  %s = graph.for %i to %n (%a = %t : tensor<8x4xf32>) -> (tensor<8x4xf32>) {
    %j = graph.bind_sizes %i names ["d"] : tensor<i64> -> index
    %b = graph.insert_slice %r into %a at <["d", 0]> : (tensor<1x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    graph.yield %b : tensor<8x4xf32>
  }
  func.return %s : tensor<8x4xf32>
}

// -----

// A state too; its next value may be read. Kept values have memory of their own.
// CHECK-LABEL: func.func @main(
// PLAN-SAME: in_place = [1]
// KEEP-NOT: in_place
// PLAN: %[[PART:.*]] = memref.reinterpret_cast %0 to offset: [4], sizes: [2, 2], strides: [8, 1] : memref<2x8xf32> to memref<2x2xf32, strided<[8, 1], offset: 4>>
// PLAN-NEXT: "memref.copy"(%1, %[[PART]])
// PLAN-NEXT: func.call @k(%0, %2)
// PLAN-NEXT: func.return
// KEEP: "memref.copy"(%0, %3) : (memref<2x8xf32>, memref<2x8xf32>) -> ()
// KEEP: func.call @k(%3, %2)
func.func @main(%s: tensor<2x8xf32> {graph.state = "s"}, %u: tensor<2x2xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32> {graph.state = "s"}) {
  %b = graph.insert_slice %u into %s at <[0, 4]> : (tensor<2x2xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %y = func.call @k(%b) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  func.return %y, %b : tensor<2x8xf32>, tensor<2x8xf32>
}
func.func private @k(%a: tensor<2x8xf32>) -> tensor<2x8xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  func.return %a : tensor<2x8xf32>
}
