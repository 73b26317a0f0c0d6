// RUN: stepwell-opt %s -p add-entry --split-input-file --verify-diagnostics

// expected-error: an entry calls @main on buffers, and there is none
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
// -----
// expected-error@unknown: an entry calls @main on buffers, and there is none
func.func @other() {
  func.return
}
