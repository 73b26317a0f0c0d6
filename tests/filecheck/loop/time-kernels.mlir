// RUN: stepwell-opt %s -p time-kernels | filecheck %s
// RUN: stepwell-opt %s -p time-kernels,convert-loops-to-llvm | filecheck %s --check-prefix=LLVM

func.func private @k(%x: memref<4xf32>) attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 1>}

// CHECK-LABEL: @main
// LLVM-LABEL: llvm.func @main
func.func @main(%x: memref<4xf32>, %arena: memref<?xi8>) attributes {sched.program = #sched.program<inputs = 1, outputs = 0, arena = "0", slots = 0>} {
  // CHECK: sched.clock at 0
  // CHECK-NEXT: func.call @k(%x)
  // CHECK-NEXT: sched.clock at 1
  // CHECK-NEXT: sched.clock at 2
  // CHECK-NEXT: func.call @k(%x)
  // CHECK-NEXT: sched.clock at 3
  // LLVM: llvm.getelementptr inbounds %ctx[8]
  // LLVM-NEXT: %[[CLOCK:.*]] = llvm.load
  // LLVM-NEXT: llvm.getelementptr inbounds %ctx[9]
  // LLVM-NEXT: %[[TIMES:.*]] = llvm.load
  // LLVM: llvm.call %[[CLOCK]](%{{.*}}, %[[TIMES]])
  // LLVM: llvm.call @k
  // LLVM: %[[END:.*]] = llvm.getelementptr inbounds %{{.*}}[2]
  // LLVM: llvm.call %{{.*}}(%{{.*}}, %[[END]])
  // LLVM: %[[SECONDS:.*]] = llvm.sub
  // LLVM: llvm.add %{{.*}}, %[[SECONDS]]
  // LLVM: %[[NANOSECONDS:.*]] = llvm.sub
  // LLVM: llvm.add %{{.*}}, %[[NANOSECONDS]]
  // CHECK-NEXT: sched.clock at 4
  // CHECK-NEXT: sched.host_call 0
  // CHECK-NEXT: sched.clock at 5
  func.call @k(%x) : (memref<4xf32>) -> ()
  func.call @k(%x) : (memref<4xf32>) -> ()
  "sched.host_call"(%x) {callee = 0 : i64, reads = array<i64>} : (memref<4xf32>) -> ()
  func.return
}
