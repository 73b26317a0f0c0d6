// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @bits
func.func @bits(%key: tensor<2xi64>) {
  // CHECK: graph.random_bits %key count <["2 * N"]> : tensor<2xi64> -> tensor<?xui64, #graph.dims<["2 * N"]>>
  %0 = graph.random_bits %key count <["2 * N"]> : tensor<2xi64> -> tensor<?xui64, #graph.dims<["2 * N"]>>
  func.return
}
