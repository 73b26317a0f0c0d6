// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @branches
func.func @branches(%x: tensor<4xf32>, %z: tensor<1xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  // CHECK: %[[Y:.*]] = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
  // CHECK-NEXT: %[[E:.*]] = graph.exp %x
  // CHECK-NEXT: graph.yield %[[E]] : tensor<4xf32>
  // CHECK-NEXT: } else {
  // CHECK-NEXT: graph.yield %x : tensor<4xf32>
  %y = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
    %e = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
    graph.yield %e : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  }
  // CHECK: graph.if %c : tensor<i1> -> (tensor<?xf32>) attributes {note = "kept"} {
  %s = graph.if %c : tensor<i1> -> (tensor<?xf32>) attributes {note = "kept"} {
    graph.yield %x : tensor<4xf32>
  } else {
    graph.yield %z : tensor<1xf32>
  }
  // CHECK: %{{.*}}, %{{.*}} = graph.if %c : tensor<i1> defines ["n"] -> (tensor<?xf32, #graph.dims<["n"]>>, index) {
  %u, %n = graph.if %c : tensor<i1> defines ["n"] -> (tensor<?xf32, #graph.dims<["n"]>>, index) {
    graph.yield %x : tensor<4xf32>
  } else {
    graph.yield %z : tensor<1xf32>
  }
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: @loops
func.func @loops(%x: tensor<4xf32>, %z: tensor<1xf32>, %n: tensor<i64>) -> tensor<4xf32> {
  // CHECK: %[[F:.*]] = graph.for %{{.*}} to %n (%[[A:.*]] = %x : tensor<4xf32>) -> (tensor<4xf32>) {
  // CHECK-NEXT: graph.add %[[A]], %x
  %f = graph.for %i to %n (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %b = graph.add %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %b : tensor<4xf32>
  }
  // CHECK: graph.for %{{.*}} to %n (%{{.*}} = %z : tensor<1xf32> as tensor<?xf32, #graph.dims<["d"]>>)
  // CHECK-SAME: carries ["d"] (%{{.*}}) defines ["e"] -> (tensor<?xf32, #graph.dims<["e"]>>, index) {
  %g, %e = graph.for %i to %n (%a = %z : tensor<1xf32> as tensor<?xf32, #graph.dims<["d"]>>)
      carries ["d"] (%d) defines ["e"] -> (tensor<?xf32, #graph.dims<["e"]>>, index) {
    %b = graph.concat %a, %z axis 0
        : (tensor<?xf32, #graph.dims<["d"]>>, tensor<1xf32>) -> tensor<?xf32, #graph.dims<["d + 1"]>>
    graph.yield %b : tensor<?xf32, #graph.dims<["d + 1"]>>
  }
  %zero = graph.constant dense<0> : tensor<i64>
  %one = graph.constant dense<1> : tensor<i64>
  // CHECK: graph.while (%[[I:.*]] = %{{.*}} : tensor<i64>, %{{.*}} = %[[F]] : tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
  // CHECK-NEXT: %[[C:.*]] = graph.less %[[I]], %n
  // CHECK-NEXT: graph.yield %[[C]] : tensor<i1>
  // CHECK-NEXT: } do (%[[J:.*]]: tensor<i64>, %{{.*}}: tensor<4xf32>) {
  // CHECK-NEXT: graph.add %[[J]]
  %k, %w = graph.while (%i = %zero : tensor<i64>, %a = %f : tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
    %t = graph.less %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    graph.yield %t : tensor<i1>
  } do (%j: tensor<i64>, %b: tensor<4xf32>) {
    %next = graph.add %j, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %v = graph.multiply %b, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %next, %v : tensor<i64>, tensor<4xf32>
  }
  func.return %w : tensor<4xf32>
}
