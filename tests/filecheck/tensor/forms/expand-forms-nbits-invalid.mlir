// RUN: stepwell-opt %s -p expand-forms --split-input-file --verify-diagnostics

func.func private @form(%x: tensor<5x32xf32>, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>, %e: tensor<5x8xf32>) -> tensor<5x8xf32> {
  // expected-error: form must be panels or by-rows or registers or digits or digits-or-panels, found 'rows'
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e bits 4 block 16 {sched.schedule = #sched.schedule<form = "rows">} : (tensor<5x32xf32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  func.return %y : tensor<5x8xf32>
}

// -----

func.func private @size(%x: tensor<5x32xf32>, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>, %e: tensor<5x8xf32>) -> tensor<5x8xf32> {
  // expected-error: sizes of form registers are chains, found depth
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e bits 4 block 16 {sched.schedule = #sched.schedule<form = "registers", sizes = {depth = 16}>} : (tensor<5x32xf32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  func.return %y : tensor<5x8xf32>
}

// -----

func.func private @depth(%x: tensor<5x32xf32>, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>, %e: tensor<5x8xf32>) -> tensor<5x8xf32> {
  // expected-error: depth of form panels must be multiples of 16 from 16 to 32, found 24
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e bits 4 block 16 {sched.schedule = #sched.schedule<form = "panels", sizes = {depth = 24}>} : (tensor<5x32xf32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  func.return %y : tensor<5x8xf32>
}

// -----

func.func private @chains(%x: tensor<5x32xf32>, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>, %e: tensor<5x8xf32>) -> tensor<5x8xf32> {
  // expected-error: chains of form by-rows must be 1 to 4, found 5
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e bits 4 block 16 {sched.schedule = #sched.schedule<form = "by-rows", sizes = {chains = 5}>} : (tensor<5x32xf32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  func.return %y : tensor<5x8xf32>
}

// -----

func.func private @groups(%x: tensor<5x32xf32>, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>, %e: tensor<5x8xf32>) -> tensor<5x8xf32> {
  // expected-error: groups of form panels must be 1 to 64, found 65
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e bits 4 block 16 {sched.schedule = #sched.schedule<form = "panels", sizes = {groups = 65}>} : (tensor<5x32xf32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  func.return %y : tensor<5x8xf32>
}

// -----

func.func private @shorts(%x: tensor<3x8xi32>, %c: tensor<2x8x4xi32>, %s: tensor<2x2x4xf32>, %t: tensor<3x2xf32>, %e: tensor<3x8xf32>) -> tensor<3x8xf32> {
  // expected-error: linalg_ext.matmul_nbits: sums of 8-bit codes do not fit 16 bits
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e x_scales %t : tensor<3x2xf32> bits 8 block 16 {sched.schedule = #sched.schedule<form = "short-bytes">} : (tensor<3x8xi32>, tensor<2x8x4xi32>, tensor<2x2x4xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  func.return %y : tensor<3x8xf32>
}

// -----

func.func private @pairs(%x: tensor<3x8xi32>, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>, %t: tensor<3x2xf32>, %e: tensor<3x8xf32>) -> tensor<3x8xf32> {
  // expected-error: pairs of form short-bytes must be 1 to 8, found 9
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e x_scales %t : tensor<3x2xf32> bits 4 block 16 {sched.schedule = #sched.schedule<form = "short-bytes", sizes = {pairs = 9}>} : (tensor<3x8xi32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  func.return %y : tensor<3x8xf32>
}

// -----

func.func private @columns(%x: tensor<3x8xi32>, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>, %t: tensor<3x2xf32>, %e: tensor<3x8xf32>) -> tensor<3x8xf32> {
  // expected-error: columns must divide the 4 columns of a panel, found 3
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e x_scales %t : tensor<3x2xf32> bits 4 block 16 {sched.schedule = #sched.schedule<form = "bytes", sizes = {columns = 3}>} : (tensor<3x8xi32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  func.return %y : tensor<3x8xf32>
}

// -----

func.func private @strips(%x: tensor<5x32xf32>, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>, %e: tensor<5x8xf32>) -> tensor<5x8xf32> {
  // expected-error: columns must divide the 4 columns of a panel, found 3
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e bits 4 block 16 {sched.schedule = #sched.schedule<form = "panels", sizes = {columns = 3}>} : (tensor<5x32xf32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  func.return %y : tensor<5x8xf32>
}

// -----

func.func private @both(%x: tensor<3x32xf32>, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>, %t: tensor<3x2xf32>, %q: tensor<3x8xi32>, %e: tensor<3x8xf32>) -> tensor<3x8xf32> {
  // expected-error: form must be floats-or-bytes or floats-or-short-bytes or digits-or-bytes, found 'bytes'
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e x_scales %t : tensor<3x2xf32> row_bytes %q : tensor<3x8xi32> few 4 bits 4 block 16 {sched.schedule = #sched.schedule<form = "bytes">} : (tensor<3x32xf32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  func.return %y : tensor<3x8xf32>
}

// -----

func.func private @digits(%x: tensor<5x32xf32>, %c: tensor<2x8x4xi32>, %s: tensor<2x2x4xf32>, %e: tensor<5x8xf32>) -> tensor<5x8xf32> {
  // expected-error: linalg_ext.matmul_nbits: sums of 8-bit codes and digits do not fit 32 bits
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e bits 8 block 16 {sched.schedule = #sched.schedule<form = "digits">} : (tensor<5x32xf32>, tensor<2x8x4xi32>, tensor<2x2x4xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  func.return %y : tensor<5x8xf32>
}

// -----

func.func private @digit_rows(%x: tensor<5x32xf32>, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>, %e: tensor<5x8xf32>) -> tensor<5x8xf32> {
  // expected-error: digit_rows of form digits-or-panels must be 1 to 8, found 9
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e bits 4 block 16 {sched.schedule = #sched.schedule<form = "digits-or-panels", sizes = {digit_rows = 9}>} : (tensor<5x32xf32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  func.return %y : tensor<5x8xf32>
}
