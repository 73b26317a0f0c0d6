// RUN: stepwell-opt %s --split-input-file --verify-diagnostics -p map-loops-to-gpu

func.func @reduction(%n: index, %init: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error: a parallel loop with reductions is not mapped to a GPU
  %sum = "scf.parallel"(%c0, %n, %c1, %init) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
  ^bb0(%i: index):
    %v = arith.constant 1.0 : f32
    scf.reduce(%v : f32) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      scf.reduce.return %s : f32
    }
  }) : (index, index, index, f32) -> f32
  func.return
}

// -----

func.func @result(%x: memref<4xf32>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error: a result of one thread is used outside of it
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0) -> (index) {
    %s = arith.addi %a, %i : index
    scf.yield %s : index
  }
  func.return %sum : index
}
