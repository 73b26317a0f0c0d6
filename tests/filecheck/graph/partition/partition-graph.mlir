// RUN: stepwell-opt %s -p partition-graph | filecheck %s
// RUN: stepwell-opt %s -p partition-graph,partition-graph | filecheck %s
// RUN: stepwell-opt %s -p 'partition-graph{bind-constants}' | filecheck %s --check-prefix=BOUND

// Arguments are what the region reads, results what others read; %h moves before the region that needs it.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %w = graph.constant
// CHECK-NEXT: %h = graph.exp %x
// CHECK-NEXT: %a, %c = graph.external @acme_0(%x, %h) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT: %d = graph.external @acme_1(%w)
// CHECK-NEXT: func.return %a, %c, %d
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<2xf32>) {
  %w = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %a = graph.relu %x {graph.target = "acme", graph.region = 0 : i64} : tensor<4xf32> -> tensor<4xf32>
  %b = graph.tanh %a {graph.target = "acme", graph.region = 0 : i64} : tensor<4xf32> -> tensor<4xf32>
  %h = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
  %c = graph.add %b, %h {graph.target = "acme", graph.region = 0 : i64}
    : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // Without a number, a region of its own.
  %d = graph.neg %w {graph.target = "acme"} : tensor<2xf32> -> tensor<2xf32>
  func.return %a, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @symbols
func.func @symbols(%x: tensor<?x3xf32, #graph.dims<["N", 3]>>, %y: tensor<?xf32, #graph.dims<["M"]>>)
    -> tensor<?x?xf32, #graph.dims<["N", "3 * M"]>> {
  // CHECK: %z = graph.tile %y repeats <[3]>
  %z = graph.tile %y repeats <[3]>
    : tensor<?xf32, #graph.dims<["M"]>> -> tensor<?xf32, #graph.dims<["3 * M"]>>
  // No shape of an argument tells N and M: they are arguments.
  // CHECK: [[S:%.*]] = graph.extents <["N", "M"]>
  // CHECK: graph.external @acme_2(%z, [[S]])
  %r = graph.broadcast_to %z shape <["N", "3 * M"]> {graph.target = "acme"}
    : tensor<?xf32, #graph.dims<["3 * M"]>> -> tensor<?x?xf32, #graph.dims<["N", "3 * M"]>>
  func.return %r : tensor<?x?xf32, #graph.dims<["N", "3 * M"]>>
}

// CHECK-LABEL: func.func private @acme_0(%x: tensor<4xf32> {graph.name = "input0"}, %h: tensor<4xf32> {graph.name = "input1"})
// CHECK-SAME: (tensor<4xf32> {graph.name = "output0"}, tensor<4xf32> {graph.name = "output1"})
// CHECK-SAME: attributes {graph.backend = "acme", skip_optimization}
// CHECK-NEXT: %a = graph.relu %x :
// CHECK-NEXT: %b = graph.tanh %a :
// CHECK-NEXT: %c = graph.add %b, %h :
// CHECK-NEXT: func.return %a, %c

// CHECK-LABEL: func.func private @acme_1(%w: tensor<2xf32>
// BOUND-LABEL: func.func private @acme_1()
// BOUND-NEXT: %w = graph.constant

// CHECK-LABEL: func.func private @acme_2
// CHECK-SAME: graph.symbols = #graph.dims<["N", "M"]>
