// RUN: stepwell-opt %s -p expand-forms --split-input-file --verify-diagnostics

func.func private @form(%x: tensor<3x258xf32>, %e: tensor<3x258xf32>) -> tensor<3x258xf32> {
  // expected-error: linalg_ext.scan: form must be columns or layers or rows, found 'blocks'
  %y = linalg_ext.scan %x into %e kind "sum" axis 0 exclusive false reverse false {sched.schedule = #sched.schedule<form = "blocks">} : (tensor<3x258xf32>, tensor<3x258xf32>) -> tensor<3x258xf32>
  func.return %y : tensor<3x258xf32>
}

// -----

func.func private @inner(%x: tensor<3x258xf32>, %e: tensor<3x258xf32>) -> tensor<3x258xf32> {
  // expected-error: form rows scans the innermost axis only
  %y = linalg_ext.scan %x into %e kind "sum" axis 0 exclusive false reverse false {sched.schedule = #sched.schedule<form = "rows">} : (tensor<3x258xf32>, tensor<3x258xf32>) -> tensor<3x258xf32>
  func.return %y : tensor<3x258xf32>
}

// -----

func.func private @half(%x: tensor<3x258xf16>, %e: tensor<3x258xf16>) -> tensor<3x258xf16> {
  // expected-error: form columns needs numbers that are added in their own type
  %y = linalg_ext.scan %x into %e kind "sum" axis 0 exclusive false reverse false {sched.schedule = #sched.schedule<form = "columns">} : (tensor<3x258xf16>, tensor<3x258xf16>) -> tensor<3x258xf16>
  func.return %y : tensor<3x258xf16>
}

// -----

func.func private @open(%x: tensor<3x?xf32>, %e: tensor<3x?xf32>) -> tensor<3x?xf32> {
  // expected-error: form columns needs known sizes after the axis
  %y = linalg_ext.scan %x into %e kind "sum" axis 0 exclusive false reverse false {sched.schedule = #sched.schedule<form = "columns">} : (tensor<3x?xf32>, tensor<3x?xf32>) -> tensor<3x?xf32>
  func.return %y : tensor<3x?xf32>
}

// -----

func.func private @size(%x: tensor<3x258xf32>, %e: tensor<3x258xf32>) -> tensor<3x258xf32> {
  // expected-error: sizes of form columns are columns, found block
  %y = linalg_ext.scan %x into %e kind "sum" axis 0 exclusive false reverse false {sched.schedule = #sched.schedule<form = "columns", sizes = {block = 8}>} : (tensor<3x258xf32>, tensor<3x258xf32>) -> tensor<3x258xf32>
  func.return %y : tensor<3x258xf32>
}

// -----

func.func private @range(%x: tensor<3x258xf32>, %e: tensor<3x258xf32>) -> tensor<3x258xf32> {
  // expected-error: columns of form columns must be 1 to 4096, found 1099511627776
  %y = linalg_ext.scan %x into %e kind "sum" axis 0 exclusive false reverse false {sched.schedule = #sched.schedule<form = "columns", sizes = {columns = 1099511627776}>} : (tensor<3x258xf32>, tensor<3x258xf32>) -> tensor<3x258xf32>
  func.return %y : tensor<3x258xf32>
}
