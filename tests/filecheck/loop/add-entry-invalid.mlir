// RUN: stepwell-opt %s -p add-entry --split-input-file --verify-diagnostics

// expected-error: an entry needs a function @main on buffers, and the module has none
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
// -----
// expected-error@unknown: an entry needs a function @main on buffers, and the module has none
func.func @other() {
  func.return
}
