// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @quantize_c1_scale(%x: tensor<8xf32>, %s: tensor<i32>) {
  // expected-error: scale must be a float, found i32
  %0 = graph.quantize %x, %s to ui8 : (tensor<8xf32>, tensor<i32>) -> tensor<8xui8>
  func.return
}
// -----
func.func @quantize_c1_input(%x: tensor<8xi64>, %s: tensor<f32>) {
  // expected-error: element type must be a float or i32, found i64
  %0 = graph.quantize %x, %s to ui8 : (tensor<8xi64>, tensor<f32>) -> tensor<8xui8>
  func.return
}
// -----
func.func @quantize_c2_axis(%x: tensor<8x4xf32>, %s: tensor<8xf32>) {
  // expected-error: scale must have shape (4), found (8)
  %0 = graph.quantize %x, %s axis 1 to ui8 : (tensor<8x4xf32>, tensor<8xf32>) -> tensor<8x4xui8>
  func.return
}
// -----
func.func @quantize_c2_blocks(%x: tensor<8x5xf32>, %s: tensor<8x2xf32>) {
  // expected-error: scale must have shape (8, 3), found (8, 2)
  %0 = graph.quantize %x, %s axis 1 block 2 to ui8 : (tensor<8x5xf32>, tensor<8x2xf32>) -> tensor<8x5xui8>
  func.return
}
// -----
func.func @quantize_c3(%x: tensor<8xf32>, %s: tensor<f32>, %z: tensor<i8>) {
  // expected-error: zero_point must be ui8, found i8
  %0 = graph.quantize %x, %s zero_point %z : tensor<i8> to ui8 : (tensor<8xf32>, tensor<f32>) -> tensor<8xui8>
  func.return
}
// -----
func.func @dequantize_c1(%x: tensor<8xi8>, %s: tensor<f32>) {
  // expected-error: `to` must be a float, found i32
  %0 = graph.dequantize %x, %s to i32 : (tensor<8xi8>, tensor<f32>) -> tensor<8xi32>
  func.return
}
// -----
func.func @dequantize_c3(%x: tensor<8xi8>, %s: tensor<f32>, %z: tensor<8xi8>) {
  // expected-error: zero_point must be one number or have the scale's shape (), found (8)
  %0 = graph.dequantize %x, %s zero_point %z : tensor<8xi8> to f32 : (tensor<8xi8>, tensor<f32>) -> tensor<8xf32>
  func.return
}
// -----
func.func @requantize_c1(%x: tensor<8xf32>, %s: tensor<f32>) {
  // expected-error: element type must be i32, found f32
  %0 = graph.requantize %x, %s to ui8 : (tensor<8xf32>, tensor<f32>) -> tensor<8xui8>
  func.return
}
// -----
func.func @words_c1(%x: tensor<8xi64>) {
  // expected-error: element type must be an integer of 8 or 16 bits, found i64
  %0 = graph.words %x : tensor<8xi64> -> tensor<2xi32>
  func.return
}
// -----
func.func @words_c2(%x: tensor<4x6xi8>) {
  // expected-error: the last dimension must be a multiple of 4, found (4, 6)
  %0 = graph.words %x : tensor<4x6xi8> -> tensor<4x1xi32>
  func.return
}
// -----
func.func @words_c2_shorts(%x: tensor<4x3xi16>) {
  // expected-error: the last dimension must be a multiple of 2, found (4, 3)
  %0 = graph.words %x : tensor<4x3xi16> -> tensor<4x1xi32>
  func.return
}
// -----
func.func @packed_c1(%a: tensor<4x6xi32>, %b: tensor<6x8xi32>) {
  // expected-error: packed operands need panels [N/nr, K/4, nr] as b, and no zero points
  %0 = graph.matmul_integer %a, %b : (tensor<4x6xi32>, tensor<6x8xi32>) -> tensor<4x8xi32>
  func.return
}
// -----
func.func @packed_c2(%a: tensor<4x6xi32>, %b: tensor<1x5x8xi32>) {
  // expected-error: contracted dimensions must be equal, found 6 in a and 5 in b
  %0 = graph.matmul_integer %a, %b : (tensor<4x6xi32>, tensor<1x5x8xi32>) -> tensor<4x8xi32>
  func.return
}
// -----
func.func @conv_c1(%x: tensor<1x3x8xi16>, %w: tensor<4x3x3xi8>) {
  // expected-error: operand x must have 8-bit integers, found i16
  %0 = graph.conv_integer %x, %w strides [1] dilations [1] pads [0, 0] data_layout "NCW" kernel_layout "OIW" : (tensor<1x3x8xi16>, tensor<4x3x3xi8>) -> tensor<1x4x6xi32>
  func.return
}
// -----
func.func @conv_c2(%x: tensor<1x3x8xi8>, %w: tensor<4x3x3xi8>, %z: tensor<4xi8>) {
  // expected-error: x_zero_point must have rank 0, found tensor<4xi8>
  %0 = graph.conv_integer %x, %w x_zero_point %z : tensor<4xi8> strides [1] dilations [1] pads [0, 0] data_layout "NCW" kernel_layout "OIW" : (tensor<1x3x8xi8>, tensor<4x3x3xi8>) -> tensor<1x4x6xi32>
  func.return
}
// -----
func.func @conv_c3(%x: tensor<1x3x8xi8>, %w: tensor<4x3x3xi8>, %z: tensor<i8>) {
  // expected-error: `border` must be 0 beside an x_zero_point, which fills the padding
  %0 = graph.conv_integer %x, %w x_zero_point %z : tensor<i8> strides [1] dilations [1] pads [0, 0] border 2 data_layout "NCW" kernel_layout "OIW" : (tensor<1x3x8xi8>, tensor<4x3x3xi8>) -> tensor<1x4x6xi32>
  func.return
}
// -----
func.func @observe_c1_input(%x: tensor<8xi32>) {
  // expected-error: element type must be f32, found i32
  %0 = graph.observe %x key "a:0" role "activation" to ui8 : tensor<8xi32> -> tensor<8xi32>
  func.return
}
// -----
func.func @observe_c1_to(%x: tensor<8xf32>) {
  // expected-error: `to` must be an integer, found f16
  %0 = graph.observe %x key "a:0" role "activation" to f16 : tensor<8xf32> -> tensor<8xf32>
  func.return
}
// -----
func.func @observe_c2(%x: tensor<8xf32>) {
  %0 = graph.observe %x key "a:0" role "activation" to ui8 : tensor<8xf32> -> tensor<8xf32>
  // expected-error: key "a:0" must be unique, and another observer has it
  %1 = graph.observe %x key "a:0" role "activation" to ui8 : tensor<8xf32> -> tensor<8xf32>
  func.return
}
// -----
func.func @observe_c3(%x: tensor<8xf32>) {
  // expected-error: role must be one of activation, result, weight, bias, found "input"
  %0 = graph.observe %x key "a:0" role "input" to ui8 : tensor<8xf32> -> tensor<8xf32>
  func.return
}
// -----
func.func @observe_c4_axis(%x: tensor<8xf32>) {
  // expected-error: axis must be in 0..0, found 1
  %0 = graph.observe %x key "a:1" role "weight" to i8 axis 1 : tensor<8xf32> -> tensor<8xf32>
  func.return
}
// -----
func.func @observe_c4_block(%x: tensor<8xf32>) {
  // expected-error: block must be positive and needs an axis, found 32
  %0 = graph.observe %x key "a:1" role "weight" to i4 block 32 : tensor<8xf32> -> tensor<8xf32>
  func.return
}
// -----
func.func @nbits_element(%x: tensor<4x80xf16>, %c: tensor<2x12x32xi32>, %s: tensor<2x3x32xf32>) {
  // expected-error: x must be f32, found f16
  %0 = graph.matmul_nbits %x, %c, %s columns 60 bits 4 block 32 : (tensor<4x80xf16>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<4x60xf32>
  func.return
}

// -----

func.func @nbits_words(%x: tensor<4x80xf32>, %c: tensor<2x12x32xi8>, %s: tensor<2x3x32xf32>) {
  // expected-error: codes must be i32, found i8
  %0 = graph.matmul_nbits %x, %c, %s columns 60 bits 4 block 32 : (tensor<4x80xf32>, tensor<2x12x32xi8>, tensor<2x3x32xf32>) -> tensor<4x60xf32>
  func.return
}

// -----

func.func @nbits_points(%x: tensor<4x80xf32>, %c: tensor<2x12x32xi32>, %s: tensor<2x3x32xf32>, %z: tensor<2x3x32xi8>) {
  // expected-error: zero_points must be ui8, found i8
  %0 = graph.matmul_nbits %x, %c, %s zero_points %z : tensor<2x3x32xi8> columns 60 bits 4 block 32 : (tensor<4x80xf32>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<4x60xf32>
  func.return
}

// -----

func.func @nbits_bits(%x: tensor<4x80xf32>, %c: tensor<2x12x32xi32>, %s: tensor<2x3x32xf32>) {
  // expected-error: bits must be one of [2, 4, 8], found 3
  %0 = graph.matmul_nbits %x, %c, %s columns 60 bits 3 block 32 : (tensor<4x80xf32>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<4x60xf32>
  func.return
}

// -----

func.func @nbits_block(%x: tensor<4x80xf32>, %c: tensor<2x12x32xi32>, %s: tensor<2x3x32xf32>) {
  // expected-error: block must be a positive multiple of 16, found 24
  %0 = graph.matmul_nbits %x, %c, %s columns 60 bits 4 block 24 : (tensor<4x80xf32>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<4x60xf32>
  func.return
}

// -----

func.func @nbits_elements(%x: tensor<4x80xf32>, %c: tensor<2x10x32xi32>, %s: tensor<2x3x32xf32>) {
  // expected-error: codes must be (2, 12, 32), found (2, 10, 32)
  %0 = graph.matmul_nbits %x, %c, %s columns 60 bits 4 block 32 : (tensor<4x80xf32>, tensor<2x10x32xi32>, tensor<2x3x32xf32>) -> tensor<4x60xf32>
  func.return
}

// -----

func.func @nbits_columns(%x: tensor<4x80xf32>, %c: tensor<2x12x32xi32>, %s: tensor<2x3x32xf32>) {
  // expected-error: codes must be (3, 12, 32), found (2, 12, 32)
  %0 = graph.matmul_nbits %x, %c, %s columns 65 bits 4 block 32 : (tensor<4x80xf32>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<4x65xf32>
  func.return
}

// -----

func.func @nbits_scales(%x: tensor<4x80xf32>, %c: tensor<2x12x32xi32>, %s: tensor<2x3x31xf32>) {
  // expected-error: scales must be (2, 3, 32), found (2, 3, 31)
  %0 = graph.matmul_nbits %x, %c, %s columns 60 bits 4 block 32 : (tensor<4x80xf32>, tensor<2x12x32xi32>, tensor<2x3x31xf32>) -> tensor<4x60xf32>
  func.return
}

// -----

func.func @nbits_open(%x: tensor<4x?xf32>, %c: tensor<2x12x32xi32>, %s: tensor<2x3x32xf32>) {
  // expected-error: x must have known steps
  %0 = graph.matmul_nbits %x, %c, %s columns 60 bits 4 block 32 : (tensor<4x?xf32>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<4x60xf32>
  func.return
}

// -----

func.func @nbits_x_scales(%x: tensor<4x24xi32>, %c: tensor<2x12x32xi32>, %s: tensor<2x3x32xf32>, %t: tensor<4x2xf32>) {
  // expected-error: x_scales must be (4, 3), found (4, 2)
  %0 = graph.matmul_nbits %x, %c, %s x_scales %t : tensor<4x2xf32> columns 60 bits 4 block 32 : (tensor<4x24xi32>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<4x60xf32>
  func.return
}

// -----

func.func @nbits_few_alone(%x: tensor<4x80xf32>, %c: tensor<2x12x32xi32>, %s: tensor<2x3x32xf32>) {
  // expected-error: row_bytes must come with x_scales and few
  %0 = graph.matmul_nbits %x, %c, %s few 4 columns 60 bits 4 block 32 : (tensor<4x80xf32>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<4x60xf32>
  func.return
}

// -----

func.func @nbits_bytes_alone(%x: tensor<4x80xf32>, %c: tensor<2x12x32xi32>, %s: tensor<2x3x32xf32>, %q: tensor<4x24xi32>) {
  // expected-error: row_bytes must come with x_scales and few
  %0 = graph.matmul_nbits %x, %c, %s row_bytes %q : tensor<4x24xi32> few 4 columns 60 bits 4 block 32 : (tensor<4x80xf32>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<4x60xf32>
  func.return
}

// -----

func.func @nbits_few(%x: tensor<4x80xf32>, %c: tensor<2x12x32xi32>, %s: tensor<2x3x32xf32>, %q: tensor<4x24xi32>, %t: tensor<4x3xf32>) {
  // expected-error: few must be at least 1, found 0
  %0 = graph.matmul_nbits %x, %c, %s x_scales %t : tensor<4x3xf32> row_bytes %q : tensor<4x24xi32> few 0 columns 60 bits 4 block 32 : (tensor<4x80xf32>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<4x60xf32>
  func.return
}

// -----

func.func @nbits_row_bytes(%x: tensor<4x80xf32>, %c: tensor<2x12x32xi32>, %s: tensor<2x3x32xf32>, %q: tensor<5x24xi32>, %t: tensor<4x3xf32>) {
  // expected-error: row_bytes must be (4, 24), found (5, 24)
  %0 = graph.matmul_nbits %x, %c, %s x_scales %t : tensor<4x3xf32> row_bytes %q : tensor<5x24xi32> few 4 columns 60 bits 4 block 32 : (tensor<4x80xf32>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<4x60xf32>
  func.return
}

// -----

func.func @nbits_row_bytes_element(%x: tensor<4x80xf32>, %c: tensor<2x12x32xi32>, %s: tensor<2x3x32xf32>, %q: tensor<4x24xf32>, %t: tensor<4x3xf32>) {
  // expected-error: row_bytes must be i32, found f32
  %0 = graph.matmul_nbits %x, %c, %s x_scales %t : tensor<4x3xf32> row_bytes %q : tensor<4x24xf32> few 4 columns 60 bits 4 block 32 : (tensor<4x80xf32>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<4x60xf32>
  func.return
}
