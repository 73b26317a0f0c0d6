// RUN: stepwell-opt %s -p raise-loops-to-linalg | filecheck %s

// An elementwise op: its result needs nothing of the tensor before it.
// CHECK-LABEL: @elementwise
// CHECK-NEXT: %[[E:.*]] = tensor.empty() : tensor<8xf32>
// CHECK-NEXT: linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%[[E]] : tensor<8xf32>)
// CHECK: math.exp
// CHECK-NOT: scf.for
func.func @elementwise(%x: tensor<8xf32>, %e: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %y = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %e) -> (tensor<8xf32>) {
    %a = tensor.extract %x[%i] : tensor<8xf32>
    %b = math.exp %a : f32
    %u = tensor.insert %b into %t[%i] : tensor<8xf32>
    scf.yield %u : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}

// A sum that a number carries is one over a row, from 0.
// CHECK-LABEL: @rows
// CHECK: %[[F:.*]] = linalg.fill
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%[[F]] : tensor<4xf32>)
// CHECK-NOT: scf.for
func.func @rows(%x: tensor<4x8xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %z = arith.constant 0.0 : f32
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %e) -> (tensor<4xf32>) {
    %s = scf.for %r = %c0 to %c8 step %c1 iter_args(%p = %z) -> (f32) {
      %a = tensor.extract %x[%i, %r] : tensor<4x8xf32>
      %q = arith.addf %p, %a : f32
      scf.yield %q : f32
    }
    %u = tensor.insert %s into %t[%i] : tensor<4xf32>
    scf.yield %u : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// Each element needs the one before it: the loop stays.
// CHECK-LABEL: @recurrence
// CHECK: scf.for
// CHECK-NOT: linalg.generic
func.func @recurrence(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %y = scf.for %i = %c0 to %c7 step %c1 iter_args(%t = %x) -> (tensor<8xf32>) {
    %j = arith.addi %i, %c1 : index
    %a = tensor.extract %t[%i] : tensor<8xf32>
    %b = tensor.extract %t[%j] : tensor<8xf32>
    %s = arith.addf %a, %b : f32
    %u = tensor.insert %s into %t[%j] : tensor<8xf32>
    scf.yield %u : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}

// Lanes and copies are words about the op's schedule.
// CHECK-LABEL: @words
// CHECK: linalg.generic {{.*}}sched.schedule = #sched.schedule<tile = [1, 0], parallel = [0], vectorize = 1>
func.func @words(%x: tensor<4x8xf32>, %e: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %e) -> (tensor<4x8xf32>) {
    %v = scf.for %j = %c0 to %c8 step %c1 iter_args(%w = %t) -> (tensor<4x8xf32>) {
      %a = tensor.extract %x[%i, %j] : tensor<4x8xf32>
      %b = arith.addf %a, %a : f32
      %u = tensor.insert %b into %w[%i, %j] : tensor<4x8xf32>
      scf.yield %u : tensor<4x8xf32>
    } {sched.lanes}
    scf.yield %v : tensor<4x8xf32>
  } {sched.parallel}
  func.return %y : tensor<4x8xf32>
}
