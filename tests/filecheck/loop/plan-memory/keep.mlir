// RUN: stepwell-opt %s -p 'plan-memory{keep=true}' --split-input-file | filecheck %s

// Each result has memory of its own, which `sched.buffers` names; scratch is shared, the output is the caller's.
// CHECK-LABEL: func.func @main
// CHECK-SAME: arena = "192"
// CHECK-SAME: sched.buffers = {parts = #graph.dims<[192]>, values = [{
// CHECK-SAME: value = "a", memory = "arena", index = 0 : i64, part = 0 : i64, offset = 0 : i64, dims = #graph.dims<[16]>, dtype = "float32"}, {
// CHECK-SAME: value = "b", memory = "arena", index = 2 : i64, part = 0 : i64, offset = 64 : i64,
// CHECK-SAME: value = "d", memory = "output", index = 0 : i64, part = 0 : i64, offset = 0 : i64,
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

// -----

// Each size that differs has a part of the arena, in which its values begin.
// CHECK-LABEL: func.func @main
// CHECK-SAME: arena = "64 * ((4 * M) ceildiv 64) + 64 * ((4 * N) ceildiv 64) + 64"
// CHECK-SAME: parts = #graph.dims<[64, "64 * ((4 * N) ceildiv 64)", "64 * ((4 * M) ceildiv 64)"]>
// CHECK-SAME: value = "a", memory = "arena", index = 0 : i64, part = 1 : i64, offset = 0 : i64, dims = #graph.dims<["N"]>
// CHECK-SAME: value = "b", memory = "arena", index = 1 : i64, part = 2 : i64, offset = 0 : i64, dims = #graph.dims<["M"]>
// CHECK-SAME: value = "c", memory = "arena", index = 2 : i64, part = 0 : i64, offset = 0 : i64, dims = #graph.dims<[16]>
func.func @main(%x: tensor<?xf32> {graph.dims = #graph.dims<["N"]>}, %y: tensor<?xf32> {graph.dims = #graph.dims<["M"]>},
                %z: tensor<16xf32>, %N: index, %M: index) -> tensor<f32>
    attributes {sched.program = #sched.program<symbols = ["N", "M"]>} {
  %a = func.call @k(%x, %N) : (tensor<?xf32>, index) -> tensor<?xf32>
  %b = func.call @k(%y, %M) : (tensor<?xf32>, index) -> tensor<?xf32>
  %c = func.call @fixed(%z) : (tensor<16xf32>) -> tensor<16xf32>
  %d = func.call @sum(%a, %b, %c, %N, %M)
    : (tensor<?xf32>, tensor<?xf32>, tensor<16xf32>, index, index) -> tensor<f32>
  func.return %d : tensor<f32>
}
func.func private @k(tensor<?xf32>, index) -> (tensor<?xf32> {graph.dims = #graph.dims<["S"]>})
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["S"]>}
func.func private @fixed(tensor<16xf32>) -> tensor<16xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>}
func.func private @sum(tensor<?xf32>, tensor<?xf32>, tensor<16xf32>, index, index) -> tensor<f32>
    attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1, symbols = ["A", "B"]>}
