// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @c1_input(%x: tensor<8xi32>) {
  // expected-error: element type must be f32, found i32
  %0 = graph.observe %x key "a:0" role "activation" to ui8 : tensor<8xi32> -> tensor<8xi32>
  func.return
}
// -----
func.func @c1_to(%x: tensor<8xf32>) {
  // expected-error: `to` must be an integer, found f16
  %0 = graph.observe %x key "a:0" role "activation" to f16 : tensor<8xf32> -> tensor<8xf32>
  func.return
}
// -----
func.func @c2(%x: tensor<8xf32>) {
  %0 = graph.observe %x key "a:0" role "activation" to ui8 : tensor<8xf32> -> tensor<8xf32>
  // expected-error: key "a:0" is that of another observer
  %1 = graph.observe %x key "a:0" role "activation" to ui8 : tensor<8xf32> -> tensor<8xf32>
  func.return
}
// -----
func.func @c3(%x: tensor<8xf32>) {
  // expected-error: role must be one of activation, result, weight, bias, found "input"
  %0 = graph.observe %x key "a:0" role "input" to ui8 : tensor<8xf32> -> tensor<8xf32>
  func.return
}
// -----
func.func @c4_axis(%x: tensor<8xf32>) {
  // expected-error: axis must be in 0..0, found 1
  %0 = graph.observe %x key "a:1" role "weight" to i8 axis 1 : tensor<8xf32> -> tensor<8xf32>
  func.return
}
// -----
func.func @c4_block(%x: tensor<8xf32>) {
  // expected-error: block must be positive and needs an axis, found 32
  %0 = graph.observe %x key "a:1" role "weight" to i4 block 32 : tensor<8xf32> -> tensor<8xf32>
  func.return
}
