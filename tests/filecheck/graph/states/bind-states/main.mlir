// RUN: stepwell-opt %s -p bind-states --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p bind-states{capacity=64} --split-input-file | filecheck %s --check-prefix=FIXED

// A state that grows, and the mask and the positions that follow from its length.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %k: tensor<?x?x4xf32, #graph.dims<["B", "capacity", 4]>> {graph.name = "k", graph.state = "k", graph.grows = 1 : i64}
// CHECK-SAME: %length: tensor<i64> {graph.name = "length", graph.state = "length", graph.length}
// CHECK-SAME: %x: tensor<?x?x4xf32, #graph.dims<["B", "S", 4]>> {graph.name = "inputs_embeds"})
// CHECK-SAME: tensor<?x?x4xf32, #graph.dims<["B", "P + S", 4]>> {graph.name = "k_out", graph.state = "k"}
// CHECK-NEXT: graph.bind_sizes %length names ["P"]
// CHECK-NEXT: %[[PAST:.*]] = graph.slice %k starts <[0, 0, 0]> limits <["B", "P", 4]> steps [1, 1, 1]
// CHECK: %mask = graph.broadcast_to %{{.*}} shape <["B", "P + S"]>
// CHECK: %[[COUNT:.*]] = graph.iota shape <[1, "S"]> axis 1 of i64
// CHECK: graph.extents <["P"]>
// CHECK: graph.add %[[COUNT]]
// CHECK: graph.concat %[[PAST]], %x axis 1
// CHECK: graph.gather %mask, %at axis 1
// FIXED-LABEL: func.func @main(
// FIXED-SAME: %k: tensor<?x64x4xf32, #graph.dims<["B", 64, 4]>>
func.func @main(%x: tensor<?x?x4xf32, #graph.dims<["B", "S", 4]>> {graph.name = "inputs_embeds"},
                %mask: tensor<?x?xi64, #graph.dims<["B", "T"]>> {graph.name = "attention_mask"},
                %at: tensor<?x?xi64, #graph.dims<["B", "S"]>> {graph.name = "position_ids"},
                %k: tensor<?x?x4xf32, #graph.dims<["B", "P", 4]>> {graph.name = "k"})
    -> (tensor<?x?x4xf32, #graph.dims<["B", "P + S", 4]>> {graph.name = "k_out"},
        tensor<?x?xi64, #graph.dims<["B", "S"]>> {graph.name = "y"}) {
  %all = graph.concat %k, %x axis 1
    : (tensor<?x?x4xf32, #graph.dims<["B", "P", 4]>>, tensor<?x?x4xf32, #graph.dims<["B", "S", 4]>>)
    -> tensor<?x?x4xf32, #graph.dims<["B", "P + S", 4]>>
  %y = graph.gather %mask, %at axis 1 batch_dims 1 bounds "check"
    : (tensor<?x?xi64, #graph.dims<["B", "T"]>>, tensor<?x?xi64, #graph.dims<["B", "S"]>>)
    -> tensor<?x?xi64, #graph.dims<["B", "S"]>>
  func.return %all, %y : tensor<?x?x4xf32, #graph.dims<["B", "P + S", 4]>>, tensor<?x?xi64, #graph.dims<["B", "S"]>>
}

// -----

// States whose sizes have names of their own share one length; what has one size is a state without it.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %a: tensor<?xf32, #graph.dims<["capacity"]>> {graph.name = "a", graph.state = "a", graph.grows = 0 : i64}
// CHECK-SAME: %b: tensor<?xf32, #graph.dims<["capacity"]>> {graph.name = "b", graph.state = "b", graph.grows = 0 : i64}
// CHECK-SAME: %h: tensor<3xf32> {graph.name = "h", graph.state = "h"}
// CHECK-SAME: %length: tensor<i64>
// CHECK-SAME: %x: tensor<?xf32, #graph.dims<["S"]>>
// CHECK-SAME: tensor<3xf32> {graph.name = "h_out", graph.state = "h"}
// CHECK: graph.slice %a starts <[0]> limits <["P"]>
// CHECK: graph.slice %b starts <[0]> limits <["P"]>
func.func @main(%x: tensor<?xf32, #graph.dims<["S"]>> {graph.name = "x"},
                %a: tensor<?xf32, #graph.dims<["P"]>> {graph.name = "a"},
                %b: tensor<?xf32, #graph.dims<["Q"]>> {graph.name = "b"},
                %h: tensor<3xf32> {graph.name = "h"})
    -> (tensor<?xf32, #graph.dims<["P + S"]>> {graph.name = "a_out"},
        tensor<?xf32, #graph.dims<["Q + S"]>> {graph.name = "b_out"}, tensor<3xf32> {graph.name = "h_out"}) {
  %a1 = graph.concat %a, %x axis 0
    : (tensor<?xf32, #graph.dims<["P"]>>, tensor<?xf32, #graph.dims<["S"]>>) -> tensor<?xf32, #graph.dims<["P + S"]>>
  %b1 = graph.concat %b, %x axis 0
    : (tensor<?xf32, #graph.dims<["Q"]>>, tensor<?xf32, #graph.dims<["S"]>>) -> tensor<?xf32, #graph.dims<["Q + S"]>>
  %y = graph.relu %h : tensor<3xf32> -> tensor<3xf32>
  func.return %a1, %b1, %y
    : tensor<?xf32, #graph.dims<["P + S"]>>, tensor<?xf32, #graph.dims<["Q + S"]>>, tensor<3xf32>
}

// -----

// Operators with a cache are known by name on level 0, and the lengths that they take follow from the state's.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %cache: tensor<1x1x?x4xf32, #graph.dims<[1, 1, "capacity", 4]>>
// CHECK-SAME: graph.grows = 2 : i64
// CHECK-SAME: %ids: tensor<?x?xi64, #graph.dims<["B", "S"]>> {graph.name = "input_ids"}, %new: {{[^)]*}} {graph.name = "new"})
// CHECK: %[[PAST:.*]] = graph.slice %cache starts <[0, 0, 0, 0]> limits <[1, 1, "past_length", 4]>
// CHECK: %y = "onnx.Concat"(%[[PAST]], %new) <{axis = 2 : i64}>
// CHECK-SAME: -> tensor<1x1x?x4xf32, #graph.dims<[1, 1, "S + past_length", 4]>>
func.func @main(%ids: tensor<?x?xi64, #graph.dims<["B", "S"]>> {graph.name = "input_ids"},
                %cache: tensor<1x1x?x4xf32, #graph.dims<[1, 1, "M", 4]>> {graph.name = "k"},
                %new: tensor<1x1x?x4xf32, #graph.dims<[1, 1, "S", 4]>> {graph.name = "new"},
                %at: tensor<1xi64> {graph.name = "write_indices"})
    -> (tensor<1x1x?x4xf32, #graph.dims<[1, 1, "M", 4]>> {graph.name = "k_out"}) {
  %y = "onnx.TensorScatter"(%cache, %new, %at) <{axis = -2 : i64}>
    : (tensor<1x1x?x4xf32, #graph.dims<[1, 1, "M", 4]>>, tensor<1x1x?x4xf32, #graph.dims<[1, 1, "S", 4]>>, tensor<1xi64>)
    -> tensor<1x1x?x4xf32, #graph.dims<[1, 1, "M", 4]>>
  func.return %y : tensor<1x1x?x4xf32, #graph.dims<[1, 1, "M", 4]>>
}
