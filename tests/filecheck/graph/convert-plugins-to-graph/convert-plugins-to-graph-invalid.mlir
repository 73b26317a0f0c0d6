// RUN: stepwell-opt %s --load %S/lowerings.py -p convert-plugins-to-graph --split-input-file --verify-diagnostics

func.func @nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: lowered.nothing: the lowering returns nothing
  %y = "lowered.nothing"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

func.func @wrong_type(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  // expected-error: lowered.rows: output 0 is declared as tensor<3xf32>, and the lowering makes tensor<3x1xf32>
  %y = "lowered.rows"(%x) {keep} : (tensor<3x4xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// -----

func.func @inferred(%x: tensor<3x4xf32>) -> tensor<4xf32> {
  // expected-error: result type must be tensor<3xf32>, found tensor<4xf32>
  %y = "lowered.rows"(%x) : (tensor<3x4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

func.func @checked(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: nothing is between 6.0 and 0.0
  %y = lowered.clamp %x between 6.0 and 0.0 : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

func.func @attribute(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: property 'high' expected in operation 'lowered.clamp'
  %y = "lowered.clamp"(%x) <{low = 1.0 : f32}> : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

func.func @pattern_type(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: output 0 is declared as tensor<4xf32>, and the lowering makes tensor<4xi1>
  %y = "lowered.other_type"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
