// RUN: stepwell-opt %s -p expand-forms --split-input-file --verify-diagnostics

func.func private @form(%x: tensor<4x6xf32>) -> tensor<8x6xf32> {
  %e = tensor.empty() : tensor<8x6xf32>
  // expected-error: linalg_ext.resize: form must be repeat or gather or last-axis-first or first-axis-first, found 'axes'
  %y = linalg_ext.resize %x into %e mode "nearest" coordinate "half_pixel" nearest "round_prefer_floor" cubic_a 0.0 extrapolation 0.0 {sched.schedule = #sched.schedule<form = "axes">} : (tensor<4x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  func.return %y : tensor<8x6xf32>
}

// -----

func.func private @size(%x: tensor<4x6xf32>) -> tensor<8x6xf32> {
  %e = tensor.empty() : tensor<8x6xf32>
  // expected-error: sizes of form gather are none, found rows
  %y = linalg_ext.resize %x into %e mode "nearest" coordinate "half_pixel" nearest "floor" cubic_a 0.0 extrapolation 0.0 {sched.schedule = #sched.schedule<form = "gather", sizes = {rows = 1}>} : (tensor<4x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  func.return %y : tensor<8x6xf32>
}

// -----

func.func private @mode(%x: tensor<4x6xf32>) -> tensor<8x6xf32> {
  %e = tensor.empty() : tensor<8x6xf32>
  // expected-error: forms repeat and gather need mode nearest, without a crop
  %y = linalg_ext.resize %x into %e mode "linear" coordinate "half_pixel" nearest "floor" cubic_a 0.0 extrapolation 0.0 {sched.schedule = #sched.schedule<form = "gather">} : (tensor<4x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  func.return %y : tensor<8x6xf32>
}

// -----

func.func private @factor(%x: tensor<4x6xf32>) -> tensor<7x6xf32> {
  %e = tensor.empty() : tensor<7x6xf32>
  // expected-error: form repeat needs whole factors, and a rounding that repeats
  %y = linalg_ext.resize %x into %e mode "nearest" coordinate "half_pixel" nearest "floor" cubic_a 0.0 extrapolation 0.0 {sched.schedule = #sched.schedule<form = "repeat">} : (tensor<4x6xf32>, tensor<7x6xf32>) -> tensor<7x6xf32>
  func.return %y : tensor<7x6xf32>
}

// -----

func.func private @integers(%x: tensor<4x6xi8>) -> tensor<7x6xi8> {
  %e = tensor.empty() : tensor<7x6xi8>
  // expected-error: form first-axis-first needs floats
  %y = linalg_ext.resize %x into %e mode "linear" coordinate "half_pixel" nearest "floor" cubic_a 0.0 extrapolation 0.0 {sched.schedule = #sched.schedule<form = "first-axis-first">} : (tensor<4x6xi8>, tensor<7x6xi8>) -> tensor<7x6xi8>
  func.return %y : tensor<7x6xi8>
}
