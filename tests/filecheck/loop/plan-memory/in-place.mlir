// RUN: stepwell-opt %s -p plan-memory --split-input-file | filecheck %s

// Each result is where its operand was, and the arena has room for one.
// CHECK-LABEL: func.func @main
// CHECK-SAME: arena = "64", slots = 0>
func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  // CHECK: %[[A:.*]] = memref.view
  // CHECK-NEXT: func.call @k(%{{.*}}, %[[A]]) :
  %a = func.call @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK-NEXT: func.call @k(%[[A]], %[[A]]) :
  %b = func.call @k(%a) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK-NEXT: func.call @k(%[[A]], %[[Y:.*]]) :
  %y = func.call @k(%b) : (tensor<16xf32>) -> tensor<16xf32>
  func.return %y : tensor<16xf32>
}
func.func private @k(tensor<16xf32>) -> tensor<16xf32>
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, in_place = [0 over 0]>}

// -----
// %a is read again after %b, and may be written over where it is the first operand alone: twice nothing shares.
// CHECK-LABEL: func.func @main
// CHECK-SAME: arena = "128", slots = 0>
func.func @main(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  // CHECK: func.call @k(%{{.*}}, %{{.*}}, %[[A:.*]]) :
  %a = func.call @k(%x, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  // CHECK: func.call @k(%[[A]], %[[A]], %[[B:.*]]) :
  %b = func.call @k(%a, %a) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  // CHECK: func.call @k(%[[B]], %[[A]], %{{.*}}) :
  %y = func.call @k(%b, %a) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  // CHECK-NEXT: func.call @k(%[[B]], %{{.*}}, %{{.*}}) :
  %z = func.call @k(%b, %y) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  func.return %y, %z : tensor<16xf32>, tensor<16xf32>
}
func.func private @k(tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1, in_place = [0 over 0]>}

// -----
// Open sizes share where they are the same expression; the caller's input is not written.
// CHECK-LABEL: func.func @main
// CHECK-SAME: arena = "64 * ((4 * N) ceildiv 64)", slots = 0>
func.func @main(%x: tensor<?xf32> {graph.dims = #graph.dims<["N"]>}, %N: index)
    -> (tensor<?xf32> {graph.dims = #graph.dims<["N"]>}) attributes {sched.program = #sched.program<symbols = ["N"]>} {
  %a = func.call @k(%x, %N) : (tensor<?xf32>, index) -> tensor<?xf32>
  %b = func.call @k(%a, %N) : (tensor<?xf32>, index) -> tensor<?xf32>
  %c = func.call @k(%b, %N) : (tensor<?xf32>, index) -> tensor<?xf32>
  func.return %c : tensor<?xf32>
}
func.func private @k(tensor<?xf32>, index) -> (tensor<?xf32> {graph.dims = #graph.dims<["S"]>})
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["S"], in_place = [0 over 0]>}
