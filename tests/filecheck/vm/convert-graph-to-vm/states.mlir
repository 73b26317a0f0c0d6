// RUN: stepwell-opt %s -p convert-graph-to-vm | filecheck %s
// RUN: stepwell-opt %s -p convert-graph-to-vm | stepwell-opt | filecheck %s

// States are numbers of inputs and outputs; initial values are constants.
// CHECK: vm.constant #0 = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: vm.func @main (3) registers 4
// CHECK-SAME: vm.states = [#vm.state<"total" input 0 output 1 initial 0>, #vm.state<"w" input 2>]
func.func @main(%t: tensor<2xf32> {graph.state = "total", graph.initial = dense<[1.0, 2.0]> : tensor<2xf32>},
                %x: tensor<2xf32>, %w: tensor<2xf32> {graph.state = "w"})
    -> (tensor<2xf32>, tensor<2xf32> {graph.state = "total"}) {
  func.return %w, %x : tensor<2xf32>, tensor<2xf32>
}
