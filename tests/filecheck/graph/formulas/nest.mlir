// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s -p fuse-ops,convert-graph-to-linalg | filecheck %s --check-prefix=LINALG

// CHECK-LABEL: @last
// CHECK: %y = graph.nest "last"(%x) reads {{\[}}["n", "4"]] extents ["n"] writes {{\[}}["1", "4"]] of [f32]
// CHECK: ^bb0(%a: tensor<?x4xf32>, %n: index):
// LINALG: func.func private @k0(%x: tensor<?x4xf32> {{.*}}, %N: index)
// LINALG: arith.subi %N
// LINALG: tensor.extract_slice %x
func.func @last(%x: tensor<?x4xf32, #graph.dims<["N", 4]>>) -> tensor<1x4xf32> {
  %y = graph.nest "last" (%x) reads [["n", "4"]] extents ["n"] writes [["1", "4"]] of [f32]
    : (tensor<?x4xf32, #graph.dims<["N", 4]>>) -> tensor<1x4xf32> {
  ^bb0(%a: tensor<?x4xf32>, %n: index):
    %one = arith.constant 1 : index
    %last = arith.subi %n, %one : index
    %r = tensor.extract_slice %a[%last, 0] [1, 4] [1, 1] : tensor<?x4xf32> to tensor<1x4xf32>
    graph.yield %r : tensor<1x4xf32>
  }
  func.return %y : tensor<1x4xf32>
}
