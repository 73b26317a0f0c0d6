// RUN: not stepwell-opt %s -p 'collect-statistics{of=median}' 2>&1 | filecheck %s --check-prefix OF
// RUN: not stepwell-opt %s -p 'collect-statistics{of=histogram}' 2>&1 | filecheck %s --check-prefix TABLE
// RUN: not stepwell-opt %s -p 'collect-statistics{of=histogram table="%S/table.json"}' 2>&1 | filecheck %s --check-prefix KEY

// OF: error[bad-option]: of is 'median'
// OF: help: it is one of range, histogram, channels, moments
// TABLE: error[bad-option]: a histogram is over a range, and no `table` says which
// KEY: error[bad-data]: the calibration table has no statistics of 'z:0'
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.observe %x key "z:0" role "activation" to ui8 : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
