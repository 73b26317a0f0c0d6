// RUN: stepwell-opt %s -p plan-memory | filecheck %s

// %a and %c never live together and share their place; %b lives with both. A result that is an input is copied.
// CHECK-LABEL: func.func @main
// CHECK-SAME: sched.arena = "128"
func.func @main(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : index
  // CHECK: %[[A:.*]] = memref.view %{{.*}}[%[[ZERO]]]
  %a = func.call @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: %[[NEXT:.*]] = arith.constant 64 : index
  // CHECK: memref.view %{{.*}}[%[[NEXT]]]
  %b = func.call @k(%a) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: memref.view %{{.*}}[%[[ZERO]]]
  %c = func.call @k(%b) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: func.call @k(%{{.*}}, %[[OUT:.*]]) :
  %d = func.call @k(%c) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: "memref.copy"
  // CHECK: func.return
  func.return %d, %x : tensor<16xf32>, tensor<16xf32>
}
func.func private @k(tensor<16xf32>) -> tensor<16xf32> attributes {sched.kernel}
