// RUN: stepwell-opt %s -p 'plan-memory{pools="tcm=64","sram=4096"}' | filecheck %s

// %a is read three times and %b once: %a is in the first memory, which has no room for another. `@main` takes both.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%{{.*}}: memref<16xf32>, %[[Y:.*]]: memref<16xf32>, %[[TCM:.*]]: memref<?xi8>, %[[SRAM:.*]]: memref<?xi8>)
// CHECK-SAME: arena = "256", slots = 0, pools = ["tcm=64", "sram=192"]>
func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : index
  // CHECK: %[[B:.*]] = memref.view %[[SRAM]][%[[ZERO]]]
  // CHECK-NEXT: func.call @k(%{{.*}}, %{{.*}}, %[[B]]) :
  %b = func.call @k(%x, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  // CHECK: %[[A:.*]] = memref.view %[[TCM]][%[[ZERO]]]
  // CHECK-NEXT: func.call @k(%{{.*}}, %{{.*}}, %[[A]]) :
  %a = func.call @k(%x, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  // CHECK: %[[C:.*]] = memref.view %[[SRAM]]
  // CHECK-NEXT: func.call @k(%[[A]], %[[A]], %[[C]]) :
  %c = func.call @k(%a, %a) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %d = func.call @k(%a, %c) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  // CHECK: func.call @k(%{{.*}}, %[[B]], %[[Y]]) :
  %y = func.call @k(%d, %b) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  func.return %y : tensor<16xf32>
}
func.func private @k(tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>}
