// RUN: stepwell-opt %s -p merge-regions | filecheck %s
// RUN: stepwell-opt %s -p merge-regions,merge-regions | filecheck %s
// RUN: stepwell-opt %s -p merge-regions --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Neighbours come together.
// CHECK-LABEL: @chain
func.func @chain(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: graph.relu %x {graph.target = "a", graph.region = 0 : i64}
  %a = graph.relu %x {graph.target = "a"} : tensor<4xf32> -> tensor<4xf32>
  // CHECK: graph.tanh %a {graph.target = "a", graph.region = 0 : i64}
  %b = graph.tanh %a {graph.target = "a"} : tensor<4xf32> -> tensor<4xf32>
  // CHECK: graph.neg %b {graph.target = "b", graph.region = 1 : i64}
  %c = graph.neg %b {graph.target = "b"} : tensor<4xf32> -> tensor<4xf32>
  func.return %c : tensor<4xf32>
}

// The way through %h would make a cycle of one region: what is behind it is another one.
// CHECK-LABEL: @diamond
func.func @diamond(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: graph.relu %x {graph.target = "a", graph.region = 0 : i64}
  %a = graph.relu %x {graph.target = "a"} : tensor<4xf32> -> tensor<4xf32>
  // CHECK: graph.exp %a :
  %h = graph.exp %a : tensor<4xf32> -> tensor<4xf32>
  // CHECK: graph.tanh %a {graph.target = "a", graph.region = 0 : i64}
  %b = graph.tanh %a {graph.target = "a"} : tensor<4xf32> -> tensor<4xf32>
  // REMARK: remark: not in the region of graph.relu: they would wait for each other through another part
  // CHECK: graph.add %b, %h {graph.target = "a", graph.region = 1 : i64}
  %c = graph.add %b, %h {graph.target = "a"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %c : tensor<4xf32>
}

// Two regions that each read the other one would wait for each other: the second backend's are cut.
// CHECK-LABEL: @two_backends
func.func @two_backends(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: graph.relu %x {graph.target = "a", graph.region = 0 : i64}
  %a1 = graph.relu %x {graph.target = "a"} : tensor<4xf32> -> tensor<4xf32>
  // CHECK: graph.neg %x {graph.target = "b", graph.region = 1 : i64}
  %b1 = graph.neg %x {graph.target = "b"} : tensor<4xf32> -> tensor<4xf32>
  // CHECK: graph.add %a1, %b1 {graph.target = "a", graph.region = 0 : i64}
  %a2 = graph.add %a1, %b1 {graph.target = "a"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: graph.multiply %b1, %a1 {graph.target = "b", graph.region = 2 : i64}
  %b2 = graph.multiply %b1, %a1 {graph.target = "b"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: graph.exp
  %r = graph.exp %a2 : tensor<4xf32> -> tensor<4xf32>
  // CHECK: graph.add %r, %b2 :
  %s = graph.add %r, %b2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %s : tensor<4xf32>
}

// Levels would keep %a apart, since %d is behind another op of the backend; no way makes a cycle, so it joins.
// CHECK-LABEL: @pairs
func.func @pairs(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: graph.relu %x {graph.target = "a", graph.region = 0 : i64}
  %b = graph.relu %x {graph.target = "a"} : tensor<4xf32> -> tensor<4xf32>
  %h = graph.exp %b : tensor<4xf32> -> tensor<4xf32>
  // CHECK: graph.tanh %y {graph.target = "a", graph.region = 1 : i64}
  %a = graph.tanh %y {graph.target = "a"} : tensor<4xf32> -> tensor<4xf32>
  // CHECK: graph.add %a, %h {graph.target = "a", graph.region = 1 : i64}
  %d = graph.add %a, %h {graph.target = "a"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %d : tensor<4xf32>
}

// A region of the IR stays together.
// CHECK-LABEL: @given
func.func @given(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: graph.relu %x {graph.target = "a", graph.region = 0 : i64}
  %a = graph.relu %x {graph.target = "a", graph.region = 7 : i64} : tensor<4xf32> -> tensor<4xf32>
  // CHECK: graph.tanh %y {graph.target = "a", graph.region = 0 : i64}
  %b = graph.tanh %y {graph.target = "a", graph.region = 7 : i64} : tensor<4xf32> -> tensor<4xf32>
  // CHECK: graph.neg %y {graph.target = "a", graph.region = 1 : i64}
  %c = graph.neg %y {graph.target = "a"} : tensor<4xf32> -> tensor<4xf32>
  func.return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
