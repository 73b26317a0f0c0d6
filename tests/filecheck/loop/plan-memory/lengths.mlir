// RUN: stepwell-opt %s -p plan-memory --split-input-file | filecheck %s

// A buffer that grows with the length of states has the size of the longest, which a check bounds: nothing is
// allocated in the call. One that becomes smaller is.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: arena = "64 * ((4 * C) ceildiv 64) + 64", slots = 3
// CHECK-NOT: sched.allocate
// CHECK: memref.view %{{.*}} : memref<?xi8> to memref<?xf32>
// CHECK: func.call @sum(
// CHECK: sched.allocate slot 2
// CHECK: func.call @rest(
func.func @main(%k: tensor<?xf32> {graph.state = "k", graph.grows = 0 : i64, graph.dims = #graph.dims<["C"]>},
                %n: tensor<i64> {graph.state = "n", graph.length = #graph.dims<["S"]>},
                %x: tensor<?xf32> {graph.dims = #graph.dims<["S"]>}, %C: index, %S: index)
    -> (tensor<f32>, tensor<?xf32> {graph.state = "k", graph.dims = #graph.dims<["C"]>})
    attributes {sched.program = #sched.program<symbols = ["C", "S"]>} {
  %P = graph.bind_sizes %n names ["P"] : tensor<i64> -> index
  graph.check_offsets <["P"]> up_to <["C - S"]>
  %b = graph.insert_slice %x into %k at <["P"]> : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %t = func.call @part(%b, %C, %P, %S) : (tensor<?xf32>, index, index, index) -> tensor<?xf32>
  %y = func.call @sum(%t, %P, %S) : (tensor<?xf32>, index, index) -> tensor<f32>
  %r = func.call @rest(%b, %C, %P) : (tensor<?xf32>, index, index) -> tensor<?xf32>
  %z = func.call @sum2(%r, %y, %P, %C) : (tensor<?xf32>, tensor<f32>, index, index) -> tensor<f32>
  func.return %z, %b : tensor<f32>, tensor<?xf32>
}
func.func private @part(tensor<?xf32> {graph.dims = #graph.dims<["C"]>}, index, index, index)
    -> (tensor<?xf32> {graph.dims = #graph.dims<["P + S"]>})
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["C", "P", "S"]>}
func.func private @rest(tensor<?xf32> {graph.dims = #graph.dims<["C"]>}, index, index)
    -> (tensor<?xf32> {graph.dims = #graph.dims<["C - P"]>})
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["C", "P"]>}
func.func private @sum(tensor<?xf32> {graph.dims = #graph.dims<["P + S"]>}, index, index) -> tensor<f32>
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["P", "S"]>}
func.func private @sum2(tensor<?xf32> {graph.dims = #graph.dims<["C - P"]>}, tensor<f32>, index, index) -> tensor<f32>
    attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1, symbols = ["P", "C"]>}
