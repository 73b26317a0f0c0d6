// RUN: stepwell-opt %s -p raise-loops-to-linalg --verify-diagnostics --split-input-file

func.func @race(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %y = scf.for %i = %c0 to %c7 step %c1 iter_args(%t = %x) -> (tensor<8xf32>) {
    %j = arith.addi %i, %c1 : index
    %a = tensor.extract %t[%i] : tensor<8xf32>
    // expected-error: i = 0 and i = 1 write and read t[1]
    %u = tensor.insert %a into %t[%j] : tensor<8xf32>
    scf.yield %u : tensor<8xf32>
  } {sched.parallel}
  func.return %y : tensor<8xf32>
}

// -----

func.func @carried(%x: tensor<8xf32>, %z: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // expected-error: s is carried from one iteration of i to the next, and i is parallel
  %y = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %z) -> (f32) {
    %a = tensor.extract %x[%i] : tensor<8xf32>
    %t = arith.addf %s, %a : f32
    scf.yield %t : f32
  } {sched.parallel}
  func.return %y : f32
}

// -----

func.func @spatial(%x: tensor<4x8xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %e) -> (tensor<4xf32>) {
    %v = scf.for %j = %c0 to %c8 step %c1 iter_args(%w = %t) -> (tensor<4xf32>) {
      %a = tensor.extract %x[%i, %j] : tensor<4x8xf32>
      // expected-error: steps of j write the same element of y
      %u = tensor.insert %a into %w[%i] : tensor<4xf32>
      scf.yield %u : tensor<4xf32>
    } {sched.axis = "spatial"}
    scf.yield %v : tensor<4xf32>
  } {sched.axis = "spatial"}
  func.return %y : tensor<4xf32>
}

// -----

func.func @reduce(%x: tensor<4xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %e) -> (tensor<4xf32>) {
    %a = tensor.extract %x[%i] : tensor<4xf32>
    // expected-error: axis i is declared reduce, and each of its steps writes another element of y
    %u = tensor.insert %a into %t[%i] : tensor<4xf32>
    scf.yield %u : tensor<4xf32>
  } {sched.axis = "reduce"}
  func.return %y : tensor<4xf32>
}
