// RUN: stepwell-opt %s --verify-diagnostics -p check-bounds

// expected-error@+1: a kernel with sched.faults has memref<3xi64> as its last output, found memref<?xf32>
func.func @f(%x: memref<?xf32> {graph.dims = #graph.dims<["N"]>}, %y: memref<?xf32> {graph.dims = #graph.dims<["N"]>}, %N: index)
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N"]>, sched.faults} {
  func.return
}
