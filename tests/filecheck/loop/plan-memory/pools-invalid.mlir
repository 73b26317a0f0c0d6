// RUN: stepwell-opt %s -p 'plan-memory{pools="tcm=64","sram=64"}' --split-input-file --verify-diagnostics

// expected-error@unknown: sram needs 192 bytes, 64 are there
func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  %a = func.call @k(%x, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %b = func.call @k(%a, %a) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %c = func.call @k(%a, %b) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %d = func.call @k(%c, %b) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %y = func.call @k(%d, %a) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  func.return %y : tensor<16xf32>
}
func.func private @k(tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>}

// -----

// expected-error@unknown: memory pools have fixed sizes, and
func.func @main(%x: tensor<?xf32> {graph.dims = #graph.dims<["N"]>}, %N: index)
    -> (tensor<?xf32> {graph.dims = #graph.dims<["N"]>}) attributes {sched.program = #sched.program<symbols = ["N"]>} {
  %a = func.call @o(%x, %N) : (tensor<?xf32>, index) -> tensor<?xf32>
  %y = func.call @o(%a, %N) : (tensor<?xf32>, index) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
func.func private @o(tensor<?xf32> {graph.dims = #graph.dims<["N"]>}, index)
    -> (tensor<?xf32> {graph.dims = #graph.dims<["N"]>})
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N"]>}
