// RUN: stepwell-opt %s -p plan-memory | filecheck %s

// A kernel with sizes as arguments gets numbers: its result and its scratch have the bytes that these give.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: arena = "640"
// CHECK: %[[C:.*]] = arith.constant 5 : index
// CHECK: %[[N:.*]] = arith.constant 5 : index
// CHECK: memref.reinterpret_cast %0 to offset: [0], sizes: [%[[N]], 16], strides: [16, 1] : memref<5x16xf32> to memref<?x16xf32>
// CHECK: memref.view %{{.*}}[%{{.*}}][%[[N]]] : memref<?xi8> to memref<?x16xf32>
// CHECK: func.call @k(%{{.*}}, %{{.*}}, %{{.*}}, %[[C]]) : (memref<?x16xf32>, memref<?x16xf32>, memref<?xi8>, index) -> ()
func.func @main(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %a = tensor.cast %x : tensor<5x16xf32> to tensor<?x16xf32>
  %C = arith.constant 5 : index
  %b = func.call @k(%a, %C) : (tensor<?x16xf32>, index) -> tensor<?x16xf32>
  %c = func.call @k(%b, %C) : (tensor<?x16xf32>, index) -> tensor<?x16xf32>
  %y = tensor.cast %c : tensor<?x16xf32> to tensor<5x16xf32>
  func.return %y : tensor<5x16xf32>
}
func.func private @k(%x: tensor<?x16xf32> {graph.dims = #graph.dims<["C", 16]>}, %C: index) -> (tensor<?x16xf32> {graph.dims = #graph.dims<["C", 16]>})
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, scratch = "64 * C", symbols = ["C" in 4 to 8]>} {
  func.return %x : tensor<?x16xf32>
}
