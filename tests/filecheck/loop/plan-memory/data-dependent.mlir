// RUN: stepwell-opt %s -p 'plan-memory' | filecheck %s
// A size that depends on data: it is checked, told to the caller, and what needs it lies in slots; the first
// is that of the output. Two intermediates live together while one is made of the other.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: #sched.program<inputs = 1, outputs = 1, symbols = [], published = ["data_0"], arena = "0", slots = 3>
// CHECK: %[[READ:.*]] = memref.load
// CHECK: %[[SIZE:.*]] = arith.index_cast %[[READ]] : i64 to index
// CHECK: sched.check %{{.*}} row 1 shows %[[SIZE]],
// CHECK: sched.publish %[[SIZE]] at 0
// CHECK: sched.allocate slot 1, %{{.*}} : memref<?xi8>
// CHECK: sched.allocate slot 2, %{{.*}} : memref<?xi8>
// CHECK: func.call @k0
// CHECK: sched.allocate slot 0, %{{.*}} : memref<?xi8>
// CHECK: func.call @k0
func.func @main(%n: tensor<i64>) -> (tensor<?xf32> {graph.dims = #graph.dims<["data_0"]>}) {
  %s = graph.bind_sizes %n names ["data_0"] : tensor<i64> -> index
  %a = func.call @k1(%s) : (index) -> tensor<?xf32>
  %b = func.call @k0(%a, %s) : (tensor<?xf32>, index) -> tensor<?xf32>
  %c = func.call @k0(%b, %s) : (tensor<?xf32>, index) -> tensor<?xf32>
  func.return %c : tensor<?xf32>
}
func.func private @k0(tensor<?xf32> {graph.dims = #graph.dims<["N"]>}, index)
  -> (tensor<?xf32> {graph.dims = #graph.dims<["N"]>}) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N"]>}
func.func private @k1(index)
  -> (tensor<?xf32> {graph.dims = #graph.dims<["N"]>}) attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 1, symbols = ["N"]>}
