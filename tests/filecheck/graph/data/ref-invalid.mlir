// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @write_c1_type(%r: !ref.cell<tensor<f32>>, %x: tensor<i64>) {
  // expected-error: a cell of tensor<f32> is written a value of type tensor<i64>
  ref.write %r, %x : !ref.cell<tensor<f32>>, tensor<i64>
  func.return
}
// -----
func.func @read_type(%r: !ref.cell<tensor<f32>>) {
  // expected-error: result type must be tensor<f32>, found tensor<i64>
  %v = ref.read %r : !ref.cell<tensor<f32>> -> tensor<i64>
  func.return
}
