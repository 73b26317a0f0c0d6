// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @reshape_c1_twice(%x: tensor<6xf32>, %s: tensor<1xi64>) {
  // expected-error: shape must be given once: as an attribute or as an operand
  %0 = graph.reshape %x shape <[6]> shape_value %s : tensor<1xi64> : tensor<6xf32> -> tensor<6xf32>
  func.return
}
// -----
func.func @reshape_c1_length(%x: tensor<6xf32>, %s: tensor<?xi64>) {
  // expected-error: shape must be a 1-D i64 tensor of known length, found tensor<?xi64>
  %0 = graph.reshape %x shape_value %s : tensor<?xi64> : tensor<6xf32> -> tensor<6xf32>
  func.return
}
// -----
func.func @reshape_c2_elements(%x: tensor<6xf32>) {
  // expected-error: shape (4) has other elements than (6)
  %0 = graph.reshape %x shape <[4]> : tensor<6xf32> -> tensor<4xf32>
  func.return
}
// -----
func.func @reshape_symbols(%x: tensor<?x6xf32, #graph.dims<["N", 6]>>) {
  // expected-error: result type must be tensor<?x6xf32, #graph.dims<["N", 6]>>, found tensor<?x6xf32, #graph.dims<["M", 6]>>
  %0 = graph.reshape %x shape <["N", 6]> : tensor<?x6xf32, #graph.dims<["N", 6]>> -> tensor<?x6xf32, #graph.dims<["M", 6]>>
  func.return
}
// -----
func.func @expand_dims_c1_order(%x: tensor<6xf32>) {
  // expected-error: axes must be sorted and distinct, found [1, 0]
  %0 = graph.expand_dims %x axes [1, 0] : tensor<6xf32> -> tensor<1x1x6xf32>
  func.return
}
// -----
func.func @expand_dims_c1_range(%x: tensor<6xf32>) {
  // expected-error: an axis must be in 0..1, found 2
  %0 = graph.expand_dims %x axes [2] : tensor<6xf32> -> tensor<6x1xf32>
  func.return
}
// -----
func.func @squeeze_c2_size(%x: tensor<1x6xf32>) {
  // expected-error: only dimensions of size 1 can go, dimension 1 is 6
  %0 = graph.squeeze %x axes [1] : tensor<1x6xf32> -> tensor<1xf32>
  func.return
}
// -----
func.func @broadcast_to_c2_size(%x: tensor<3x2xf32>) {
  // expected-error: shape (3, 2) does not broadcast to (3, 4)
  %0 = graph.broadcast_to %x shape <[3, 4]> : tensor<3x2xf32> -> tensor<3x4xf32>
  func.return
}
// -----
func.func @broadcast_to_c2_rank(%x: tensor<3x2xf32>) {
  // expected-error: shape (3, 2) does not broadcast to (2)
  %0 = graph.broadcast_to %x shape <[2]> : tensor<3x2xf32> -> tensor<2xf32>
  func.return
}
// -----
func.func @shape_of_c1_range(%x: tensor<3x2xf32>) {
  // expected-error: start and end must be in order within 0..2, found 1 and 3
  %0 = graph.shape_of %x start 1 end 3 : tensor<3x2xf32> -> tensor<2xi64>
  func.return
}
// -----
func.func @extents_c1_unknown() {
  // expected-error: every dimension must be known, found (?)
  %0 = graph.extents <["?"]> -> tensor<1xi64>
  func.return
}
// -----
func.func @full_c2_rank(%v: tensor<1xf32>) {
  // expected-error: the value must have rank 0, found rank 1
  %0 = graph.full %v shape <[3]> : tensor<1xf32> -> tensor<3xf32>
  func.return
}
// -----
func.func @iota_c1_axis() {
  // expected-error: axis must be in 0..0, found 1
  %0 = graph.iota shape <[3]> axis 1 of i64 -> tensor<3xi64>
  func.return
}
// -----
func.func @range_c1_type(%a: tensor<i64>, %b: tensor<i32>) {
  // expected-error: operands must have one element type, found i64 and i32
  %0 = graph.range %a, %b, %a : (tensor<i64>, tensor<i32>, tensor<i64>) -> tensor<?xi64>
  func.return
}
