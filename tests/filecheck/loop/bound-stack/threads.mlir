// RUN: stepwell-opt %s -p "bound-stack{bytes=1024}" | filecheck %s

// Without `sequential`, arrays inside parallel loops stay where each thread has its own.

// CHECK-LABEL: @k
// CHECK-NOT: scratch
// CHECK: scf.parallel
// CHECK: memref.alloca() : memref<1000xf32>
func.func private @k(%x: memref<4xf32>, %y: memref<4xf32>)
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  "scf.parallel"(%c0, %c4, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %a = memref.alloca() : memref<1000xf32>
    %v = memref.load %x[%i] : memref<4xf32>
    memref.store %v, %a[%i] : memref<1000xf32>
    %w = memref.load %a[%i] : memref<1000xf32>
    memref.store %w, %y[%i] : memref<4xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
