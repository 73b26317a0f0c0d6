// RUN: stepwell-opt %s --split-input-file --verify-diagnostics
func.func @c1_a_size_without_a_name(%x: tensor<8xf32>) {
  // expected-error: the last results must be 0 of type index, one a symbol
  %y, %n = graph.host_call "numpy" "f" payload "{}" (%x) : (tensor<8xf32>) -> (tensor<8xf32>, index)
  func.return
}
// -----
func.func @c2_a_name_without_a_dimension(%x: tensor<8xf32>) {
  // expected-error: no result has the dimension data_0 that is defined
  %y, %n = graph.host_call "numpy" "f" payload "{}" (%x) defines ["data_0"]
    : (tensor<8xf32>) -> (tensor<8xf32>, index)
  func.return
}
// -----
func.func @c3_payload(%x: tensor<8xf32>) {
  // expected-error: payload must be text or a constant of bytes, found unit
  %y = graph.host_call "numpy" "f" payload unit (%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return
}
