// RUN: stepwell-opt %s -p choose-tokens --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p fuse-ops,choose-tokens,fuse-ops --split-input-file | filecheck %s --check-prefix=FUSED

// The result that is named `logits`, wherever it is; states stay.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: -> (tensor<1x2xf32> {graph.name = "hidden"}, tensor<4xf32> {graph.name = "k_out", graph.state = "k"}, tensor<1x2xi64> {graph.name = "tokens"})
// CHECK: %logits = graph.relu %x
// CHECK-NEXT: %tokens = graph.argmax %logits axis 2 keep_dims false select_last false : tensor<1x2x8xf32> -> tensor<1x2xi64>
// CHECK-NEXT: func.return %h, %k, %tokens
// FUSED-LABEL: func.func @main(
// FUSED: %logits = graph.fused
// FUSED-NEXT: graph.relu
// FUSED: graph.fused
// FUSED-NEXT: graph.argmax
func.func @main(%k: tensor<4xf32> {graph.state = "k"}, %x: tensor<1x2x8xf32>, %h: tensor<1x2xf32>)
    -> (tensor<1x2xf32> {graph.name = "hidden"}, tensor<4xf32> {graph.name = "k_out", graph.state = "k"},
        tensor<1x2x8xf32> {graph.name = "logits"}) {
  %logits = graph.relu %x : tensor<1x2x8xf32> -> tensor<1x2x8xf32>
  func.return %h, %k, %logits : tensor<1x2xf32>, tensor<4xf32>, tensor<1x2x8xf32>
}

// -----

// Without that name the first result that is no state; functions besides @main stay.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: -> (tensor<4xf32> {graph.state = "k"}, tensor<?xi64, #graph.dims<["B"]>> {graph.name = "tokens"})
// CHECK: graph.argmax %x axis 1
// CHECK-LABEL: func.func private @other
// CHECK-NOT: graph.argmax
func.func @main(%k: tensor<4xf32> {graph.state = "k"}, %x: tensor<?x8xf32, #graph.dims<["B", 8]>>)
    -> (tensor<4xf32> {graph.state = "k"}, tensor<?x8xf32, #graph.dims<["B", 8]>>) {
  func.return %k, %x : tensor<4xf32>, tensor<?x8xf32, #graph.dims<["B", 8]>>
}

func.func private @other(%x: tensor<8xf32>) -> tensor<8xf32> {
  func.return %x : tensor<8xf32>
}
