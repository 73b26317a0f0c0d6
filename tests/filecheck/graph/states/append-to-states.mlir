// RUN: stepwell-opt %s -p append-to-states --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p append-to-states,append-to-states,dead-code-elimination --split-input-file | filecheck %s --check-prefix=AGAIN

// The join of old and new positions is read from the state, in which the new ones are written.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: graph.length = #graph.dims<["S"]>
// CHECK-SAME: -> (tensor<?x4xf32, #graph.dims<["C", 4]>> {graph.state = "k"}, tensor<?x4xf32, #graph.dims<["P + S", 4]>>)
// CHECK-NEXT: graph.bind_sizes %n names ["P"]
// CHECK-NEXT: graph.check_offsets <["P"]> up_to <["C - S"]>
// CHECK: %[[NEXT:.*]] = graph.insert_slice %x into %k at <["P", 0]>
// CHECK-NEXT: %all = graph.slice %[[NEXT]] starts <[0, 0]> limits <["P + S", 4]> steps [1, 1]
// CHECK-NOT: graph.concat
// CHECK: %y = graph.relu %all
// CHECK: func.return %[[NEXT]], %y
// AGAIN-LABEL: func.func @main(
// AGAIN-SAME: graph.length = #graph.dims<["S"]>
// AGAIN: graph.check_offsets
// AGAIN-NOT: graph.check_offsets
// AGAIN: graph.insert_slice
// AGAIN-NOT: graph.insert_slice
func.func @main(%k: tensor<?x4xf32, #graph.dims<["C", 4]>> {graph.state = "k", graph.grows = 0 : i64},
                %n: tensor<i64> {graph.state = "n", graph.length},
                %x: tensor<?x4xf32, #graph.dims<["S", 4]>>)
    -> (tensor<?x4xf32, #graph.dims<["P + S", 4]>> {graph.state = "k"}, tensor<?x4xf32, #graph.dims<["P + S", 4]>>) {
  %p = graph.bind_sizes %n names ["P"] : tensor<i64> -> index
  %past = graph.slice %k starts <[0, 0]> limits <["P", 4]> steps [1, 1]
    : tensor<?x4xf32, #graph.dims<["C", 4]>> -> tensor<?x4xf32, #graph.dims<["P", 4]>>
  %all = graph.concat %past, %x axis 0
    : (tensor<?x4xf32, #graph.dims<["P", 4]>>, tensor<?x4xf32, #graph.dims<["S", 4]>>)
    -> tensor<?x4xf32, #graph.dims<["P + S", 4]>>
  %y = graph.relu %all : tensor<?x4xf32, #graph.dims<["P + S", 4]>> -> tensor<?x4xf32, #graph.dims<["P + S", 4]>>
  func.return %all, %y : tensor<?x4xf32, #graph.dims<["P + S", 4]>>, tensor<?x4xf32, #graph.dims<["P + S", 4]>>
}

// -----

// Any other next value is copied into the state.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: graph.length = #graph.dims<["S"]>
// CHECK: %y = graph.relu %all
// CHECK-NEXT: %[[NEXT:.*]] = graph.insert_slice %y into %k at <[0, 0]>
// CHECK-NEXT: func.return %[[NEXT]]
// AGAIN: func.func @main(
func.func @main(%k: tensor<?x4xf32, #graph.dims<["C", 4]>> {graph.state = "k", graph.grows = 0 : i64},
                %n: tensor<i64> {graph.state = "n", graph.length},
                %x: tensor<?x4xf32, #graph.dims<["S", 4]>>)
    -> (tensor<?x4xf32, #graph.dims<["P + S", 4]>> {graph.state = "k"}) {
  %p = graph.bind_sizes %n names ["P"] : tensor<i64> -> index
  %past = graph.slice %k starts <[0, 0]> limits <["P", 4]> steps [1, 1]
    : tensor<?x4xf32, #graph.dims<["C", 4]>> -> tensor<?x4xf32, #graph.dims<["P", 4]>>
  %all = graph.concat %past, %x axis 0
    : (tensor<?x4xf32, #graph.dims<["P", 4]>>, tensor<?x4xf32, #graph.dims<["S", 4]>>)
    -> tensor<?x4xf32, #graph.dims<["P + S", 4]>>
  %y = graph.relu %all : tensor<?x4xf32, #graph.dims<["P + S", 4]>> -> tensor<?x4xf32, #graph.dims<["P + S", 4]>>
  func.return %y : tensor<?x4xf32, #graph.dims<["P + S", 4]>>
}
