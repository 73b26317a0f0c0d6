// RUN: stepwell-opt %s -p plan-memory | filecheck %s

// %a and %c never live together and share their place, as one view; %b lives with both. A result that is an input is copied.
// CHECK-LABEL: func.func @main
// CHECK-SAME: #sched.program<inputs = 1, outputs = 2, symbols = [], arena = "128", slots = 0>
func.func @main(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : index
  // CHECK: %[[A:.*]] = memref.view %{{.*}}[%[[ZERO]]]
  %a = func.call @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: %[[NEXT:.*]] = arith.constant 64 : index
  // CHECK: %[[B:.*]] = memref.view %{{.*}}[%[[NEXT]]]
  // CHECK-NEXT: func.call @k(%[[A]], %[[B]]) :
  %b = func.call @k(%a) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK-NEXT: func.call @k(%[[B]], %[[A]]) :
  %c = func.call @k(%b) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK-NEXT: func.call @k(%[[A]], %[[OUT:.*]]) :
  %d = func.call @k(%c) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: "memref.copy"
  // CHECK: func.return
  func.return %d, %x : tensor<16xf32>, tensor<16xf32>
}
func.func private @k(tensor<16xf32>) -> tensor<16xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>}
