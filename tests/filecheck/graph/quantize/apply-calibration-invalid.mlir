// RUN: not stepwell-opt %s -p apply-calibration 2>&1 | filecheck %s --check-prefix NONE
// RUN: not stepwell-opt %s -p 'apply-calibration{method=median}' 2>&1 | filecheck %s --check-prefix METHOD
// RUN: not stepwell-opt %s -p 'apply-calibration{method=percentile percentile=20.0}' 2>&1 | filecheck %s --check-prefix PERCENTILE
// RUN: not stepwell-opt %s -p 'apply-calibration{table="%S/table.json"}' 2>&1 | filecheck %s --check-prefix KEY
// RUN: not stepwell-opt %s -p 'apply-calibration{table="%s"}' 2>&1 | filecheck %s --check-prefix FILE

// NONE: error[bad-option]: minmax needs the ranges of a calibration table, and none is given
// METHOD: error[bad-option]: there is no calibration 'median'
// METHOD: help: there is minmax, percentile, entropy, mse, global
// PERCENTILE: error[bad-option]: a percentile is above 50 and at most 100, found 20
// KEY: error[bad-data]: the calibration table has no statistics of 'a:1'
// KEY: help: did you mean a:0?
// FILE: error[bad-data]: this is no calibration file
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.observe %x key "a:1" role "activation" to ui8 : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
