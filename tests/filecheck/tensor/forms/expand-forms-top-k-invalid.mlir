// RUN: stepwell-opt %s -p expand-forms --split-input-file --verify-diagnostics

func.func private @form(%x: tensor<2x40xf32>, %v0: tensor<2x3xf32>, %i0: tensor<2x3xi64>) {
  // expected-error: linalg_ext.top_k: form must be rounds or search, found 'sort'
  %v, %i = linalg_ext.top_k %x into %v0, %i0 axis 1 largest true {sched.schedule = #sched.schedule<form = "sort">} : (tensor<2x40xf32>, tensor<2x3xf32>, tensor<2x3xi64>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  func.return
}

// -----

func.func private @wide(%x: tensor<2x40xf64>, %v0: tensor<2x3xf64>, %i0: tensor<2x3xi64>) {
  // expected-error: form rounds needs elements of at most 32 bits
  %v, %i = linalg_ext.top_k %x into %v0, %i0 axis 1 largest true {sched.schedule = #sched.schedule<form = "rounds">} : (tensor<2x40xf64>, tensor<2x3xf64>, tensor<2x3xi64>) -> (tensor<2x3xf64>, tensor<2x3xi64>)
  func.return
}

// -----

func.func private @block(%x: tensor<2x40xf32>, %v0: tensor<2x3xf32>, %i0: tensor<2x3xi64>) {
  // expected-error: block of form rounds must be multiples of 8 from 8 to 40, found 12
  %v, %i = linalg_ext.top_k %x into %v0, %i0 axis 1 largest true {sched.schedule = #sched.schedule<form = "rounds", sizes = {block = 12}>} : (tensor<2x40xf32>, tensor<2x3xf32>, tensor<2x3xi64>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  func.return
}

// -----

func.func private @large(%x: tensor<2x40xf32>, %v0: tensor<2x3xf32>, %i0: tensor<2x3xi64>) {
  // expected-error: block of form rounds must be multiples of 8 from 8 to 40, found 48
  %v, %i = linalg_ext.top_k %x into %v0, %i0 axis 1 largest true {sched.schedule = #sched.schedule<form = "rounds", sizes = {block = 48}>} : (tensor<2x40xf32>, tensor<2x3xf32>, tensor<2x3xi64>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  func.return
}

// -----

func.func private @compared(%x: tensor<2x40xf32>, %v0: tensor<2x3xf32>, %i0: tensor<2x3xi64>) {
  // expected-error: block of form search must be 1 to 256, found 1099511627776
  %v, %i = linalg_ext.top_k %x into %v0, %i0 axis 1 largest true {sched.schedule = #sched.schedule<form = "search", sizes = {block = 1099511627776}>} : (tensor<2x40xf32>, tensor<2x3xf32>, tensor<2x3xi64>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  func.return
}
