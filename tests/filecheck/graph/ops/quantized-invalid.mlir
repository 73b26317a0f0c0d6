
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
