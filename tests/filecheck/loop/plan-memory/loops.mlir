// RUN: stepwell-opt %s -p plan-memory | filecheck %s

// Both regions read the carried value in its buffer; the body's kernel may not write what it reads.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[0-9]+]]: memref<4xf32>, %[[Y:[0-9]+]]: memref<4xf32>, %[[ARENA:[0-9]+]]: memref<?xi8>
// CHECK-NEXT: "memref.copy"(%[[X]], %[[Y]])
// CHECK-NEXT: scf.while () : () -> () {
// CHECK: func.call @test(%[[Y]], %[[C:[0-9]+]])
// CHECK-NEXT: %[[CONDITION:.*]] = memref.load %[[C]][]
// CHECK-NEXT: scf.condition(%[[CONDITION]])
// CHECK-NEXT: } do {
// CHECK: func.call @k(%[[Y]], %[[NEXT:[0-9]+]])
// CHECK-NEXT: "memref.copy"(%[[NEXT]], %[[Y]])
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: func.return
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.while (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %c = func.call @test(%a) : (tensor<4xf32>) -> tensor<i1>
    graph.yield %c : tensor<i1>
  } do (%b: tensor<4xf32>) {
    %d = func.call @k(%b) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %d : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
func.func private @test(tensor<4xf32>) -> tensor<i1> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>}
func.func private @k(tensor<4xf32>) -> tensor<4xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>}
