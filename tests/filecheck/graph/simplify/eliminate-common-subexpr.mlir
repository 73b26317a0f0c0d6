// RUN: stepwell-opt %s -p eliminate-common-subexpr | filecheck %s
// RUN: stepwell-opt %s -p 'eliminate-common-subexpr{skip=exp}' | filecheck %s --check-prefix=SKIP
// RUN: stepwell-opt %s -p 'EliminateCommonSubexpr{skip="graph.constant"}' | filecheck %s --check-prefix=CONSTANT

// Chains merge in one walk; operands of commutative ops stand in any order, those of others do not.
// CHECK-LABEL: @chains
// CHECK-NEXT: %[[A:.*]] = graph.exp %x
// CHECK-NEXT: %[[B:.*]] = graph.add %[[A]], %y
// CHECK-NEXT: %[[C:.*]] = graph.subtract %[[B]], %y
// CHECK-NEXT: %[[D:.*]] = graph.subtract %y, %[[B]]
// CHECK-NEXT: func.return %[[C]], %[[C]], %[[D]]
// SKIP-LABEL: @chains
// SKIP-COUNT-2: graph.exp
func.func @chains(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
  %b = graph.add %a, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = graph.subtract %b, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
  %e = graph.add %y, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %f = graph.subtract %e, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g = graph.subtract %y, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %c, %f, %g : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Constants are compared bit by bit: zeros of different sign differ. Attributes and types count.
// CHECK-LABEL: @constants
// CHECK-COUNT-2: graph.constant
// CHECK-NOT: graph.constant
// CHECK: graph.transpose %x perm [1, 0]
// CHECK: graph.transpose %x perm [0, 1]
func.func @constants(%x: tensor<2x2xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %a = graph.constant dense<0.0> : tensor<f32>
  %b = graph.constant dense<-0.0> : tensor<f32>
  %c = graph.constant dense<0.0> : tensor<f32>
  %d = graph.transpose %x perm [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
  %e = graph.transpose %x perm [0, 1] : tensor<2x2xf32> -> tensor<2x2xf32>
  func.return %a, %b, %c, %d, %e : tensor<f32>, tensor<f32>, tensor<f32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// A kernel does not see what is outside of it.
// CHECK-LABEL: @kernel
// CHECK: graph.exp %x
// CHECK: graph.fused
// CHECK-NEXT: graph.exp
func.func @kernel(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
  %b = graph.fused (%p = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %c = graph.exp %p : tensor<4xf32> -> tensor<4xf32>
    graph.yield %c : tensor<4xf32>
  }
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// A branch sees what is before it, but not what the other one computes; what follows sees neither.
// CHECK-LABEL: @branches
// CHECK-NEXT: %[[A:.*]] = graph.exp %x
// CHECK-NEXT: graph.if
// CHECK-NEXT: graph.neg %[[A]]
// CHECK: } else {
// CHECK-NEXT: graph.neg %[[A]]
// CHECK: }
// CHECK-NEXT: graph.neg %[[A]]
func.func @branches(%x: tensor<4xf32>, %c: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
  %y = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
    %b = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
    %d = graph.neg %b : tensor<4xf32> -> tensor<4xf32>
    graph.yield %d : tensor<4xf32>
  } else {
    %d = graph.neg %a : tensor<4xf32> -> tensor<4xf32>
    graph.yield %d : tensor<4xf32>
  }
  %d = graph.neg %a : tensor<4xf32> -> tensor<4xf32>
  func.return %y, %d : tensor<4xf32>, tensor<4xf32>
}

// Equal numbers make equal ops, also where constants are left alone; a multiset counts how often; projections
// merge.
// CHECK-LABEL: @numbers
// CHECK: graph.add %x, %{{.*}}
// CHECK-NEXT: graph.add %x, %{{.*}}
// CHECK-NEXT: graph.add %x, %x
// CHECK-NEXT: graph.get %t[1]
// CHECK-NEXT: func.return
// CONSTANT-LABEL: @numbers
// CONSTANT-COUNT-3: graph.constant
// CONSTANT: graph.add %x, %{{.*}}
// CONSTANT-NEXT: graph.add %x, %{{.*}}
// CONSTANT-NEXT: graph.add %x, %x
// CONSTANT-NEXT: graph.get
// CONSTANT-NEXT: func.return
func.func @numbers(%x: tensor<f32>, %t: tuple<tensor<2xf32>, tensor<3xf32>>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3xf32>, tensor<3xf32>) {
  %c = graph.constant dense<0.0> : tensor<f32>
  %d = graph.constant dense<0.0> : tensor<f32>
  %e = graph.constant dense<-0.0> : tensor<f32>
  %0 = graph.add %x, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %1 = graph.add %d, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %2 = graph.add %x, %e : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %3 = graph.add %x, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %4 = graph.get %t[1] : tuple<tensor<2xf32>, tensor<3xf32>> -> tensor<3xf32>
  %5 = graph.get %t[1] : tuple<tensor<2xf32>, tensor<3xf32>> -> tensor<3xf32>
  func.return %0, %1, %2, %3, %4, %5 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3xf32>, tensor<3xf32>
}
