// RUN: stepwell-opt %s -p expand-forms --split-input-file --verify-diagnostics

func.func private @form(%x: tensor<1x2x14x14x16xf32>, %u: tensor<36x1x32x32xf32>, %e: tensor<1x2x14x14x16xf32>) -> tensor<1x2x14x14x16xf32> {
  // expected-error: linalg_ext.winograd_conv: form must be channels or blocks, found 'tiles'
  %y = linalg_ext.winograd_conv %x, %u into %e tile 4 pads [1, 1, 1, 1] {sched.schedule = #sched.schedule<form = "tiles">} : (tensor<1x2x14x14x16xf32>, tensor<36x1x32x32xf32>, tensor<1x2x14x14x16xf32>) -> tensor<1x2x14x14x16xf32>
  func.return %y : tensor<1x2x14x14x16xf32>
}

// -----

func.func private @size(%x: tensor<1x2x14x14x16xf32>, %u: tensor<36x1x32x32xf32>, %e: tensor<1x2x14x14x16xf32>) -> tensor<1x2x14x14x16xf32> {
  // expected-error: sizes of form channels are tiles, found groups
  %y = linalg_ext.winograd_conv %x, %u into %e tile 4 pads [1, 1, 1, 1] {sched.schedule = #sched.schedule<form = "channels", sizes = {groups = 4}>} : (tensor<1x2x14x14x16xf32>, tensor<36x1x32x32xf32>, tensor<1x2x14x14x16xf32>) -> tensor<1x2x14x14x16xf32>
  func.return %y : tensor<1x2x14x14x16xf32>
}

// -----

func.func private @tiles(%x: tensor<1x2x14x14x16xf32>, %u: tensor<36x1x32x32xf32>, %e: tensor<1x2x14x14x16xf32>) -> tensor<1x2x14x14x16xf32> {
  // expected-error: tiles of form channels must be 1 to 16, found 17
  %y = linalg_ext.winograd_conv %x, %u into %e tile 4 pads [1, 1, 1, 1] {sched.schedule = #sched.schedule<form = "channels", sizes = {tiles = 17}>} : (tensor<1x2x14x14x16xf32>, tensor<36x1x32x32xf32>, tensor<1x2x14x14x16xf32>) -> tensor<1x2x14x14x16xf32>
  func.return %y : tensor<1x2x14x14x16xf32>
}

// -----

func.func private @groups(%x: tensor<1x2x14x14x16xf32>, %u: tensor<36x1x32x32xf32>, %e: tensor<1x2x14x14x16xf32>) -> tensor<1x2x14x14x16xf32> {
  // expected-error: groups of form blocks must be 1 to 64, found 1099511627776
  %y = linalg_ext.winograd_conv %x, %u into %e tile 4 pads [1, 1, 1, 1] {sched.schedule = #sched.schedule<form = "blocks", sizes = {groups = 1099511627776}>} : (tensor<1x2x14x14x16xf32>, tensor<36x1x32x32xf32>, tensor<1x2x14x14x16xf32>) -> tensor<1x2x14x14x16xf32>
  func.return %y : tensor<1x2x14x14x16xf32>
}
