// RUN: stepwell-opt %s -p dead-code-elimination | filecheck %s

// A whole chain goes in one walk, and what is dead inside a kernel; checks stay.
// CHECK-LABEL: @main
// CHECK-NEXT: graph.assert
// CHECK-NEXT: graph.fused
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.yield
// CHECK-NEXT: }
// CHECK-NEXT: func.return
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
  %b = graph.neg %a : tensor<4xf32> -> tensor<4xf32>
  %c = graph.constant dense<1.0> : tensor<f32>
  graph.assert "N" equals "M", "sizes"
  %y = graph.fused (%p = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %q = graph.neg %p : tensor<4xf32> -> tensor<4xf32>
    %r = graph.exp %p : tensor<4xf32> -> tensor<4xf32>
    graph.yield %r : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// A branch that nobody reads goes, but for one that defines a size which a type names.
// CHECK-LABEL: @sizes
// CHECK-NEXT: graph.if {{.*}} defines ["data_0"]
// CHECK-NOT: defines ["data_1"]
// CHECK: graph.full
func.func @sizes(%x: tensor<4xf32>, %z: tensor<1xf32>, %v: tensor<f32>, %c: tensor<i1>)
    -> tensor<?xf32, #graph.dims<["data_0"]>> {
  %a, %n = graph.if %c : tensor<i1> defines ["data_0"] -> (tensor<?xf32, #graph.dims<["data_0"]>>, index) {
    graph.yield %x : tensor<4xf32>
  } else {
    graph.yield %z : tensor<1xf32>
  }
  %b, %m = graph.if %c : tensor<i1> defines ["data_1"] -> (tensor<?xf32, #graph.dims<["data_1"]>>, index) {
    graph.yield %x : tensor<4xf32>
  } else {
    graph.yield %z : tensor<1xf32>
  }
  %d = graph.neg %b : tensor<?xf32, #graph.dims<["data_1"]>> -> tensor<?xf32, #graph.dims<["data_1"]>>
  %y = graph.full %v shape <["data_0"]> : tensor<f32> -> tensor<?xf32, #graph.dims<["data_0"]>>
  func.return %y : tensor<?xf32, #graph.dims<["data_0"]>>
}
