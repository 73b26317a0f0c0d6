// RUN: stepwell-opt %s -p 'plan-memory{keep=true}' --split-input-file | filecheck %s

// Each result has memory of its own, which `sched.buffers` names; scratch is shared, the output is the caller's.
// CHECK-LABEL: func.func @main
// CHECK-SAME: arena = "192"
// CHECK-SAME: sched.buffers = [{value = "a", memory = "arena", index = 0 : i64, offset = "0", dims = #graph.dims<[16]>, dtype = "float32"}, {
// CHECK-SAME: value = "b", memory = "arena", index = 2 : i64, offset = "64",
// CHECK-SAME: value = "d", memory = "output", index = 0 : i64, offset = "0",
func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  // CHECK: %[[A:.*]] = memref.view
  // CHECK: func.call @k(%{{[0-9]+}}, %[[A]], %[[S:[0-9]+]])
  %a = func.call @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: func.call @k(%[[A]], %[[B:.*]], %[[S]])
  %b = func.call @k(%a) : (tensor<16xf32>) -> tensor<16xf32>
  %d = func.call @k(%b) : (tensor<16xf32>) -> tensor<16xf32>
  func.return %d : tensor<16xf32>
}
func.func private @k(tensor<16xf32>) -> tensor<16xf32>
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, scratch = "64">}

// -----

// The next value of a loop is not written over the one that the kernel reads, nor is the first one given up: both
// are copied. A branch does not compute in the memory of the branch's result either.
// CHECK-LABEL: func.func @main
// CHECK-SAME: value = "init"
// CHECK-SAME: value = "y"
// CHECK-SAME: value = "next"
// CHECK-SAME: value = "z"
// CHECK-SAME: value = "left"
// CHECK-SAME: value = "right"
func.func @main(%x: tensor<4xf32>, %n: tensor<i64>, %c: tensor<i1>) -> tensor<4xf32> {
  // CHECK: func.call @k(%{{[0-9]+}}, %[[INIT:[0-9]+]])
  %init = func.call @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "memref.copy"(%[[INIT]], %[[CARRIED:[0-9]+]])
  // CHECK: scf.for
  %y = graph.for %i to %n (%a = %init : tensor<4xf32>) -> (tensor<4xf32>) {
    // CHECK: func.call @k(%[[CARRIED]], %[[NEXT:[0-9]+]])
    // CHECK: "memref.copy"(%[[NEXT]], %[[CARRIED]])
    %next = func.call @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %next : tensor<4xf32>
  }
  // CHECK: scf.if
  %z = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
    // CHECK: func.call @k(%[[CARRIED]], %[[LEFT:[0-9]+]])
    // CHECK: "memref.copy"(%[[LEFT]], %{{[0-9]+}})
    %left = func.call @k(%y) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %left : tensor<4xf32>
  } else {
    %right = func.call @k(%y) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %right : tensor<4xf32>
  }
  func.return %z : tensor<4xf32>
}
func.func private @k(tensor<4xf32>) -> tensor<4xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>}
