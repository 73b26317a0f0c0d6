// RUN: stepwell-opt %s -p expand-forms --split-input-file --verify-diagnostics

func.func private @form(%x: tensor<1x8x5x8xf32>, %e: tensor<1x8x5x8xf32>) -> tensor<1x8x5x8xf32> {
  // expected-error: linalg_ext.pool: form must be rows, found 'windows'
  %y = linalg_ext.pool %x into %e kind "max" kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] {sched.schedule = #sched.schedule<form = "windows">} : (tensor<1x8x5x8xf32>, tensor<1x8x5x8xf32>) -> tensor<1x8x5x8xf32>
  func.return %y : tensor<1x8x5x8xf32>
}

// -----

func.func private @size(%x: tensor<1x8x5x8xf32>, %e: tensor<1x8x5x8xf32>) -> tensor<1x8x5x8xf32> {
  // expected-error: sizes of form rows are lanes, strips, unrolled, found rows
  %y = linalg_ext.pool %x into %e kind "max" kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] {sched.schedule = #sched.schedule<form = "rows", sizes = {rows = 4}>} : (tensor<1x8x5x8xf32>, tensor<1x8x5x8xf32>) -> tensor<1x8x5x8xf32>
  func.return %y : tensor<1x8x5x8xf32>
}

// -----

func.func private @lanes(%x: tensor<1x8x5x8xf32>, %e: tensor<1x8x5x8xf32>) -> tensor<1x8x5x8xf32> {
  // expected-error: lanes of form rows must be powers of 2 from 4 to 32, found 12
  %y = linalg_ext.pool %x into %e kind "max" kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] {sched.schedule = #sched.schedule<form = "rows", sizes = {lanes = 12}>} : (tensor<1x8x5x8xf32>, tensor<1x8x5x8xf32>) -> tensor<1x8x5x8xf32>
  func.return %y : tensor<1x8x5x8xf32>
}

// -----

func.func private @strips(%x: tensor<1x8x5x8xf32>, %e: tensor<1x8x5x8xf32>) -> tensor<1x8x5x8xf32> {
  // expected-error: strips of form rows must be 1 to 16, found 17
  %y = linalg_ext.pool %x into %e kind "max" kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] {sched.schedule = #sched.schedule<form = "rows", sizes = {strips = 17}>} : (tensor<1x8x5x8xf32>, tensor<1x8x5x8xf32>) -> tensor<1x8x5x8xf32>
  func.return %y : tensor<1x8x5x8xf32>
}

// -----

func.func private @unrolled(%x: tensor<1x8x5x8xf32>, %e: tensor<1x8x5x8xf32>) -> tensor<1x8x5x8xf32> {
  // expected-error: unrolled of form rows must be 1 to 64, found 1099511627776
  %y = linalg_ext.pool %x into %e kind "max" kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] {sched.schedule = #sched.schedule<form = "rows", sizes = {unrolled = 1099511627776}>} : (tensor<1x8x5x8xf32>, tensor<1x8x5x8xf32>) -> tensor<1x8x5x8xf32>
  func.return %y : tensor<1x8x5x8xf32>
}
