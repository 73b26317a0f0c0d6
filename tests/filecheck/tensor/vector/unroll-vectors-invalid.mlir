// RUN: stepwell-opt %s -p 'unroll-vectors{mcpu=x86-64-v3}' --split-input-file --verify-diagnostics

// A vector that leaves the function cannot be several.
func.func private @returned(%x: tensor<32xf32>, %i: index) -> vector<32xf32> {
  %p = arith.constant 0.0 : f32
  // expected-error: no way to cut vector<32xf32> for all that makes and uses it
  %v = vector.transfer_read %x[%i], %p {in_bounds = [true]} : tensor<32xf32>, vector<32xf32>
  func.return %v : vector<32xf32>
}

// -----

// Lanes of pieces of another number than those of the result.
func.func private @shuffled(%x: tensor<32xf32>, %i: index) -> f32 {
  %p = arith.constant 0.0 : f32
  // expected-error: no way to cut vector<24xf32> for all that makes and uses it
  %v = vector.transfer_read %x[%i], %p {in_bounds = [true]} : tensor<32xf32>, vector<24xf32>
  %w = vector.shuffle %v, %v [0, 1, 2, 3, 4, 5, 6, 7] : vector<24xf32>, vector<24xf32>
  %y = vector.extract %w[2] : f32 from vector<8xf32>
  func.return %y : f32
}
