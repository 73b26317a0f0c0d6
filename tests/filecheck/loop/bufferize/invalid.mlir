// RUN: stepwell-opt %s -p 'bufferize{no-copies=true}' --split-input-file --verify-diagnostics

func.func private @needs_a_copy(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  // expected-error: func.return needs a copy of memref<8xf32>
  func.return %x : tensor<8xf32>
}

// -----

func.func private @no_bound(%x: tensor<8xi64>) -> tensor<8xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %v = tensor.extract %x[%c0] : tensor<8xi64>
  %n = arith.index_cast %v : i64 to index
  // expected-error: a temporary tensor<?xf32> has an extent without a bound on entry to the kernel
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %w = tensor.extract %f[%c0] : tensor<?xf32>
  %o = tensor.empty() : tensor<8xf32>
  %r = linalg.fill ins(%w : f32) outs(%o : tensor<8xf32>) -> tensor<8xf32>
  func.return %r : tensor<8xf32>
}

// -----

func.func private @unknown_op(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  // expected-error: arith.negf on tensors cannot be converted to buffers
  %r = arith.negf %x : tensor<8xf32>
  func.return %r : tensor<8xf32>
}

// -----

func.func private @while_with_tensors(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c = arith.constant false
  // expected-error: scf.while on tensors cannot be converted to buffers
  %r = scf.while (%t = %x) : (tensor<8xf32>) -> tensor<8xf32> {
    scf.condition(%c) %t : tensor<8xf32>
  } do {
  ^bb0(%t: tensor<8xf32>):
    scf.yield %t : tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}
