// RUN: stepwell-opt %s -p outline-dataflow | filecheck %s
// RUN: stepwell-opt %s -p outline-dataflow,outline-dataflow | filecheck %s

// One run before the call, though the call stands in the middle of it.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[B:.*]], %[[C:.*]] = graph.call @main_0(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT: %[[D:.*]] = graph.call @other(%[[B]])
// CHECK-NEXT: %[[E:.*]] = graph.call @main_1(%[[C]], %[[D]])
// CHECK-NEXT: func.return %[[E]]
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = graph.constant dense<1.0> : tensor<f32>
  %a = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
  %b = graph.add %a, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = graph.neg %x : tensor<4xf32> -> tensor<4xf32>
  %d = graph.call @other(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %e = graph.multiply %c, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %e : tensor<4xf32>
}
// A branch with a call inside is no segment, its arms have theirs; one without is part of one.
// CHECK-LABEL: func.func @other
// CHECK: %[[S:.*]], %[[P:.*]] = graph.call @other_0(%x)
// CHECK: graph.if %[[P]] : tensor<i1>
// CHECK-NEXT: %[[Y:.*]] = graph.call @other_{{[12]}}(%x)
// CHECK-NEXT: graph.call @other(%[[Y]])
// CHECK: } else {
// CHECK-NEXT: graph.call @other_{{[12]}}(%[[S]], %x)
// CHECK-NEXT: graph.yield
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  %sum = graph.reduce %x kind "sum" axes [0] keep_dims false : tensor<4xf32> -> tensor<f32>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %p = graph.less %zero, %sum : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %r = graph.if %p : tensor<i1> -> (tensor<4xf32>) {
    %y = graph.neg %x : tensor<4xf32> -> tensor<4xf32>
    %z = graph.call @other(%y) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %z : tensor<4xf32>
  } else {
    %q = graph.less %sum, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %w = graph.if %q : tensor<i1> -> (tensor<4xf32>) {
      graph.yield %x : tensor<4xf32>
    } else {
      %v = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
      graph.yield %v : tensor<4xf32>
    }
    graph.yield %w : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
// The size comes from the argument that has it.
// CHECK-LABEL: func.func @size
// CHECK: graph.call @size_0(%v, %x) : (tensor<f32>, tensor<?xf32, #graph.dims<["N"]>>)
func.func @size(%x: tensor<?xf32, #graph.dims<["N"]>>, %v: tensor<f32>) -> tuple<tensor<?xf32, #graph.dims<["N"]>>> {
  %y = graph.full %v shape <["N"]> : tensor<f32> -> tensor<?xf32, #graph.dims<["N"]>>
  %t = graph.tuple %y : tensor<?xf32, #graph.dims<["N"]>>
  func.return %t : tuple<tensor<?xf32, #graph.dims<["N"]>>>
}
// CHECK: func.func private @main_0(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {vm.segment} {
// CHECK-NEXT: graph.constant dense<1.000000e+00>
// CHECK-NEXT: graph.exp %x
