// RUN: stepwell-opt %s -p expand-forms --split-input-file --verify-diagnostics

func.func private @form(%x: tensor<6x2x8xf32>, %w: tensor<1x4x8xf32>, %r: tensor<1x4x4xf32>, %y0: tensor<6x1x2x4xf32>, %h0: tensor<1x2x4xf32>) {
  // expected-error: linalg_ext.rnn: form must be whole or blocks, found 'steps'
  %y, %h = linalg_ext.rnn %x, %w, %r into %y0, %h0 : tensor<6x1x2x4xf32>, tensor<1x2x4xf32> cell "rnn" direction "forward" activations ["tanh"] alphas [0.0] betas [0.0] {sched.schedule = #sched.schedule<form = "steps">} : (tensor<6x2x8xf32>, tensor<1x4x8xf32>, tensor<1x4x4xf32>) -> tensor<6x1x2x4xf32>, tensor<1x2x4xf32>
  func.return
}

// -----

func.func private @size(%x: tensor<6x2x8xf32>, %w: tensor<1x4x8xf32>, %r: tensor<1x4x4xf32>, %y0: tensor<6x1x2x4xf32>, %h0: tensor<1x2x4xf32>) {
  // expected-error: sizes of form blocks are steps, found rows
  %y, %h = linalg_ext.rnn %x, %w, %r into %y0, %h0 : tensor<6x1x2x4xf32>, tensor<1x2x4xf32> cell "rnn" direction "forward" activations ["tanh"] alphas [0.0] betas [0.0] {sched.schedule = #sched.schedule<form = "blocks", sizes = {rows = 4}>} : (tensor<6x2x8xf32>, tensor<1x4x8xf32>, tensor<1x4x4xf32>) -> tensor<6x1x2x4xf32>, tensor<1x2x4xf32>
  func.return
}

// -----

func.func private @range(%x: tensor<6x2x8xf32>, %w: tensor<1x4x8xf32>, %r: tensor<1x4x4xf32>, %y0: tensor<6x1x2x4xf32>, %h0: tensor<1x2x4xf32>) {
  // expected-error: steps of form blocks must be 1 to 6, found 1099511627776
  %y, %h = linalg_ext.rnn %x, %w, %r into %y0, %h0 : tensor<6x1x2x4xf32>, tensor<1x2x4xf32> cell "rnn" direction "forward" activations ["tanh"] alphas [0.0] betas [0.0] {sched.schedule = #sched.schedule<form = "blocks", sizes = {steps = 1099511627776}>} : (tensor<6x2x8xf32>, tensor<1x4x8xf32>, tensor<1x4x4xf32>) -> tensor<6x1x2x4xf32>, tensor<1x2x4xf32>
  func.return
}

// -----

func.func private @partial(%x: tensor<6x2x8xf32>, %w: tensor<1x4x8xf32>, %r: tensor<1x4x4xf32>, %y0: tensor<6x1x2x4xf32>, %h0: tensor<1x2x4xf32>) {
  // expected-error: steps of form blocks must divide 6, found 4
  %y, %h = linalg_ext.rnn %x, %w, %r into %y0, %h0 : tensor<6x1x2x4xf32>, tensor<1x2x4xf32> cell "rnn" direction "forward" activations ["tanh"] alphas [0.0] betas [0.0] {sched.schedule = #sched.schedule<form = "blocks", sizes = {steps = 4}>} : (tensor<6x2x8xf32>, tensor<1x4x8xf32>, tensor<1x4x4xf32>) -> tensor<6x1x2x4xf32>, tensor<1x2x4xf32>
  func.return
}

// -----

func.func private @open(%x: tensor<?x2x8xf32>, %w: tensor<1x4x8xf32>, %r: tensor<1x4x4xf32>, %y0: tensor<?x1x2x4xf32>, %h0: tensor<1x2x4xf32>) {
  // expected-error: form blocks needs a known number of steps
  %y, %h = linalg_ext.rnn %x, %w, %r into %y0, %h0 : tensor<?x1x2x4xf32>, tensor<1x2x4xf32> cell "rnn" direction "forward" activations ["tanh"] alphas [0.0] betas [0.0] {sched.schedule = #sched.schedule<form = "blocks", sizes = {steps = 2}>} : (tensor<?x2x8xf32>, tensor<1x4x8xf32>, tensor<1x4x4xf32>) -> tensor<?x1x2x4xf32>, tensor<1x2x4xf32>
  func.return
}
