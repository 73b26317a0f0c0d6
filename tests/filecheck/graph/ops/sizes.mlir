// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s
// CHECK-LABEL: @sizes
func.func @sizes(%s: tensor<2xi64>, %t: tensor<i64>) {
  // CHECK: graph.bind_sizes %s names ["data_0", "data_1"] : tensor<2xi64> -> index, index
  %a, %b = graph.bind_sizes %s names ["data_0", "data_1"] : tensor<2xi64> -> index, index
  // CHECK: graph.bind_sizes %t signed names ["data_2", "data_3"] : tensor<i64> -> index, index
  %p, %n = graph.bind_sizes %t signed names ["data_2", "data_3"] : tensor<i64> -> index, index
  // CHECK: graph.define_sizes <["max(data_0, 3)"]> names ["data_4"] -> index
  %c = graph.define_sizes <["max(data_0, 3)"]> names ["data_4"] -> index
  func.return
}
// CHECK-LABEL: @indices
func.func @indices(%i: tensor<3x2xi64>) {
  // CHECK: graph.check_indices %i within <["N", 4]> : tensor<3x2xi64>
  graph.check_indices %i within <["N", 4]> : tensor<3x2xi64>
  func.return
}
// CHECK-LABEL: @accesses
func.func @accesses(%f: tensor<3xi64>, %i: tensor<4xi64>) {
  // CHECK: graph.check_accesses %f number 2 of "x[i + 1]" : tensor<3xi64>
  graph.check_accesses %f number 2 of "x[i + 1]" : tensor<3xi64>
  // CHECK: graph.check_indices %i within <["N"]> of "x[i[k]]" : tensor<4xi64>
  graph.check_indices %i within <["N"]> of "x[i[k]]" : tensor<4xi64>
  func.return
}
// CHECK-LABEL: @offsets
func.func @offsets() {
  // CHECK: graph.check_offsets <["p", 2]> up_to <[7, "N - 1"]>
  graph.check_offsets <["p", 2]> up_to <[7, "N - 1"]>
  func.return
}
