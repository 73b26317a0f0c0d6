// RUN: stepwell-opt %s -p convert-loops-to-emitc --split-input-file --verify-diagnostics

func.func private @k(%x: memref<1xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 0>} {
  // expected-error: is no number of C
  %v = arith.constant dense<0.0> : vector<4xf32>
  func.return
}

// -----

func.func private @k(%x: memref<8xf32>, %n: index)
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 0, symbols = ["N"]>} {
  // expected-error: memref.alloca of a size known at run time only
  %m = memref.alloca(%n) : memref<?xf32>
  func.return
}
