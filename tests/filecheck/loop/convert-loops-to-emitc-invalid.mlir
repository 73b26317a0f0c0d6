// RUN: stepwell-opt %s -p convert-loops-to-emitc --split-input-file --verify-diagnostics

func.func private @k(%x: memref<1xf64>, %y: memref<1xf64>)
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %a = memref.load %x[%c0] : memref<1xf64>
  // expected-error: math.cbrt of f64 would be a call of the C library, which C files do without
  %b = math.cbrt %a : f64
  memref.store %b, %y[%c0] : memref<1xf64>
  func.return
}

// -----

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
