// RUN: stepwell-opt %s -p scalarize-vectors --split-input-file --verify-diagnostics

func.func @bytes(%x: memref<8xi32>, %y: memref<32xi8>) {
  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %v = vector.transfer_read %x[%c0], %zero {in_bounds = [true]} : memref<8xi32>, vector<2xi32>
  // expected-error: lanes would be cut or joined
  %w = vector.bitcast %v : vector<2xi32> to vector<8xi8>
  vector.transfer_write %w, %y[%c0] {in_bounds = [true]} : vector<8xi8>, memref<32xi8>
  func.return
}

// -----

func.func @rows(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  // expected-error: vector<2x2xf32> has several dimensions
  %v = vector.transfer_read %x[%c0, %c0], %zero {in_bounds = [true, true]} : memref<4x8xf32>, vector<2x2xf32>
  vector.transfer_write %v, %y[%c0, %c0] {in_bounds = [true, true]} : vector<2x2xf32>, memref<4x8xf32>
  func.return
}
