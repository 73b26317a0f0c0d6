// RUN: stepwell-opt %s -p plan-memory | filecheck %s
// RUN: stepwell-opt %s -p plan-memory | filecheck %s --check-prefix=GLOBAL
// GLOBAL: "memref.global"() <{sym_name = "w0"{{.*}}, alignment = 64 : i64}>

// Two kernels and a reshape between them: the first result lives in the arena, behind the scratch of its kernel;
// the second is written to the caller's buffer, seen in the shape that the kernel writes.
func.func @main(%x: tensor<?x64xf32> {graph.name = "x", graph.dims = #graph.dims<["N", 64]>}, %N: index)
    -> (tensor<?x8xf32> {graph.name = "y", graph.dims = #graph.dims<["N", 8]>})
    attributes {sched.program = #sched.program<symbols = ["N"]>} {
  %w = graph.constant #graph.weight<"w", "9f86d081884c7d65", tensor<64x8xf32>> : tensor<64x8xf32>
  %a = func.call @k0(%x, %w, %N) : (tensor<?x64xf32>, tensor<64x8xf32>, index) -> tensor<?x8xf32>
  %r = graph.reshape %a shape <["N", 2, 4]> : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %b = func.call @k1(%r, %N) : (tensor<?x2x4xf32>, index) -> tensor<?x2x4xf32>
  %s = graph.reshape %b shape <["N", 8]> : tensor<?x2x4xf32> -> tensor<?x8xf32>
  func.return %s : tensor<?x8xf32>
}
func.func private @k0(tensor<?x64xf32>, tensor<64x8xf32>, index)
    -> (tensor<?x8xf32> {graph.dims = #graph.dims<["N", 8]>})
    attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1, scratch = "64 * N", symbols = ["N"]>}
func.func private @k1(tensor<?x2x4xf32>, index)
    -> (tensor<?x2x4xf32> {graph.dims = #graph.dims<["M", 2, 4]>})
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["M"]>}

// CHECK: func.func private @k0(memref<?x64xf32>, memref<64x8xf32>, memref<?x8xf32>, memref<?xi8>, index)
// CHECK: func.func @main(%[[X:.*]]: memref<?x64xf32> {graph.dims = #graph.dims<["N", 64]>}, %[[Y:.*]]: memref<?x8xf32> {{.*}}, %[[ARENA:.*]]: memref<?xi8>, %[[N:.*]]: index)
// CHECK-SAME: sched.program = #sched.program<inputs = 1, outputs = 1, symbols = ["N"], arena = "64 * ((32 * N) ceildiv 64) + 64 * N", slots = 0>
// CHECK: %[[W:.*]] = memref.get_global @w0
// CHECK: %[[OFFSET:.*]] = arith.muli %[[N]]
// CHECK: %[[A:.*]] = memref.view %[[ARENA]][%[[OFFSET]]][%[[N]]] : memref<?xi8> to memref<?x8xf32>
// CHECK: %[[SCRATCH:.*]] = memref.view %[[ARENA]]
// CHECK: func.call @k0(%[[X]], %[[W]], %[[A]], %[[SCRATCH]], %[[N]])
// CHECK: %[[R:.*]] = memref.view %[[ARENA]][%[[OFFSET]]][%[[N]]] : memref<?xi8> to memref<?x2x4xf32>
// CHECK: %[[OUT:.*]] = memref.reinterpret_cast %[[Y]] to offset: [0], sizes: [%[[N]], 2, 4], strides: [8, 4, 1]
// CHECK: func.call @k1(%[[R]], %[[OUT]], %[[N]])
