// RUN: stepwell-opt %s -p 'inline' --verify-each | filecheck %s
// RUN: stepwell-opt %s -p 'Inline,inline' --verify-each | filecheck %s

// CHECK-LABEL: @main
// CHECK-NEXT: %[[A:.*]] = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT: %[[B:.*]] = graph.neg %[[A]] : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT: %[[C:.*]] = graph.add %[[B]], %x
// CHECK-NEXT: %[[D:.*]] = graph.call @recursive(%[[C]])
// CHECK-NEXT: func.return %[[D]]
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %f = graph.lambda (%p: tensor<4xf32>) -> (tensor<4xf32>) {
    %q = graph.add %p, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %q : tensor<4xf32>
  }
  %g = graph.lambda (%h: (tensor<4xf32>) -> tensor<4xf32>) -> (tensor<4xf32>) {
    %c = graph.call %h(%a) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %c : tensor<4xf32>
  }
  %b = graph.call %g(%f) : ((tensor<4xf32>) -> tensor<4xf32>) -> tensor<4xf32>
  %y = graph.call @recursive(%b) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// CHECK-LABEL: @twice
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.neg
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
  %f = graph.function @once : (tensor<4xf32>) -> tensor<4xf32>
  %b = graph.call %f(%a) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}
func.func @once(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.neg %x : tensor<4xf32> -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
func.func @recursive(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.call @recursive(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}

// Each function has symbols of its own: a call says what they stand for, and those defined inside are new.
// CHECK-LABEL: @symbols
// CHECK-NEXT: graph.exp %x : tensor<?xf32, #graph.dims<["A"]>>
// CHECK-NEXT: graph.reshape %{{.*}} shape <["A", 1]> : tensor<?xf32, #graph.dims<["A"]>> -> tensor<?x1xf32, #graph.dims<["A", 1]>>
// CHECK: graph.if %c : tensor<i1> defines ["data_0"] -> (tensor<?xf32, #graph.dims<["data_0"]>>, index)
// CHECK: graph.if %c : tensor<i1> defines ["data_1"] -> (tensor<?xf32, #graph.dims<["data_1"]>>, index)
func.func @symbols(%x: tensor<?xf32, #graph.dims<["A"]>>, %z: tensor<1xf32>, %c: tensor<i1>) {
  %a = graph.call @own(%x) : (tensor<?xf32, #graph.dims<["A"]>>) -> tensor<?x1xf32, #graph.dims<["A", 1]>>
  %b = graph.call @joins(%x, %z, %c) : (tensor<?xf32, #graph.dims<["A"]>>, tensor<1xf32>, tensor<i1>) -> tensor<?xf32>
  %d = graph.call @joins(%x, %z, %c) : (tensor<?xf32, #graph.dims<["A"]>>, tensor<1xf32>, tensor<i1>) -> tensor<?xf32>
  func.return
}
func.func @own(%x: tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?x1xf32, #graph.dims<["N", 1]>> {
  %a = graph.exp %x : tensor<?xf32, #graph.dims<["N"]>> -> tensor<?xf32, #graph.dims<["N"]>>
  %b = graph.reshape %a shape <["N", 1]> : tensor<?xf32, #graph.dims<["N"]>> -> tensor<?x1xf32, #graph.dims<["N", 1]>>
  func.return %b : tensor<?x1xf32, #graph.dims<["N", 1]>>
}
func.func @joins(%x: tensor<?xf32, #graph.dims<["N"]>>, %z: tensor<1xf32>, %c: tensor<i1>)
    -> tensor<?xf32, #graph.dims<["d"]>> {
  %y, %n = graph.if %c : tensor<i1> defines ["d"] -> (tensor<?xf32, #graph.dims<["d"]>>, index) {
    graph.yield %x : tensor<?xf32, #graph.dims<["N"]>>
  } else {
    graph.yield %z : tensor<1xf32>
  }
  func.return %y : tensor<?xf32, #graph.dims<["d"]>>
}

// A call of the func dialect is inlined too.
// CHECK-LABEL: @upstream
// CHECK-NEXT: %[[E:.*]] = graph.exp %x
// CHECK-NEXT: graph.neg %[[E]]
// CHECK-NEXT: func.return
func.func @upstream(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// Sizes that the caller does not know get names: the first argument with a size defines its name.
// CHECK-LABEL: @unknown_sizes(
// CHECK: %[[SHAPE:.*]] = graph.shape_of %x start 1 end 2 : tensor<2x?xf32> -> tensor<1xi64>
// CHECK: graph.bind_sizes %[[SHAPE]] names ["[[N:.*]]"]
// CHECK: %[[X:.*]] = graph.reshape %x shape <[2, "[[N]]"]>
// CHECK: graph.bind_sizes %{{.*}} names ["[[M:.*]]"]
// CHECK: graph.assert "[[M]]" equals "[[N]]", "argument 1 of a call has another size along axis 1
// CHECK: %[[Y:.*]] = graph.reshape %y shape <[2, "[[N]]"]>
// CHECK: graph.add %[[X]], %[[Y]] : {{.*}} -> tensor<2x?xf32, #graph.dims<[2, "[[N]]"]>>
// CHECK-LABEL: @known_from_another(
// CHECK: graph.bind_sizes %{{.*}} names ["[[K:.*]]"]
// CHECK: graph.assert "[[K]]" equals "M"
// CHECK: %[[X:.*]] = graph.reshape %x shape <[2, "M"]>
// CHECK: graph.add %[[X]], %y
func.func private @summed(%x: tensor<2x?xf32, #graph.dims<[2, "N"]>>, %y: tensor<2x?xf32, #graph.dims<[2, "N"]>>) -> tensor<2x?xf32, #graph.dims<[2, "N"]>> {
  %z = graph.add %x, %y : (tensor<2x?xf32, #graph.dims<[2, "N"]>>, tensor<2x?xf32, #graph.dims<[2, "N"]>>) -> tensor<2x?xf32, #graph.dims<[2, "N"]>>
  func.return %z : tensor<2x?xf32, #graph.dims<[2, "N"]>>
}
func.func @unknown_sizes(%x: tensor<2x?xf32>, %y: tensor<2x?xf32>) {
  %z = graph.call @summed(%x, %y) : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<2x?xf32>
  func.return
}
func.func @known_from_another(%x: tensor<2x?xf32>, %y: tensor<2x?xf32, #graph.dims<[2, "M"]>>) {
  %z = graph.call @summed(%x, %y) : (tensor<2x?xf32>, tensor<2x?xf32, #graph.dims<[2, "M"]>>) -> tensor<2x?xf32>
  func.return
}

// A number that the callee knows is checked where the caller has a name, or nothing.
// CHECK-LABEL: @open_sizes
// CHECK: graph.assert "{{.*}}" equals "4"
// CHECK: %[[X:.*]] = graph.reshape %x shape <[4]>
// CHECK: graph.assert "{{.*}}" equals "3"
// CHECK: %[[Y:.*]] = graph.reshape %y shape <[3]>
// CHECK: graph.add %[[X]], %{{.*}} : (tensor<4xf32>
// CHECK: graph.add %[[Y]], %{{.*}} : (tensor<3xf32>
func.func @open_sizes(%x: tensor<?xf32>, %y: tensor<?xf32, #graph.dims<["M"]>>) -> (tensor<?xf32>, tensor<?xf32>) {
  %a, %b = graph.call @of_sizes(%x, %y) : (tensor<?xf32>, tensor<?xf32, #graph.dims<["M"]>>) -> (tensor<?xf32>, tensor<?xf32>)
  func.return %a, %b : tensor<?xf32>, tensor<?xf32>
}
func.func private @of_sizes(%x: tensor<4xf32>, %y: tensor<3xf32>) -> (tensor<4xf32>, tensor<3xf32>) {
  %c = graph.constant dense<1.0> : tensor<4xf32>
  %d = graph.constant dense<2.0> : tensor<3xf32>
  %a = graph.add %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = graph.add %y, %d : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %a, %b : tensor<4xf32>, tensor<3xf32>
}
// A result that inlining makes more precise makes the function's type so too; calls of it keep theirs.
// CHECK-LABEL: func.func private @precise(
// CHECK-SAME: -> tensor<3xf32>
// CHECK: func.return %{{.*}} : tensor<3xf32>
// CHECK-LABEL: func.func private @of_precise(
// CHECK: graph.call @precise_recursive(%{{.*}}) : (tensor<3xf32>) -> tensor<?xf32>
func.func private @same(%x: tensor<?xf32>) -> tensor<?xf32> {
  func.return %x : tensor<?xf32>
}
func.func private @precise(%x: tensor<3xf32>) -> tensor<?xf32> {
  %a = graph.neg %x : tensor<3xf32> -> tensor<3xf32>
  %y = graph.call @same(%a) : (tensor<3xf32>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
func.func private @precise_recursive(%x: tensor<3xf32>) -> tensor<?xf32> {
  %a = graph.call @precise_recursive(%x) : (tensor<3xf32>) -> tensor<?xf32>
  %y = graph.call @same(%x) : (tensor<3xf32>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
func.func private @of_precise(%x: tensor<3xf32>) -> tensor<?xf32> {
  %y = graph.call @precise_recursive(%x) : (tensor<3xf32>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
