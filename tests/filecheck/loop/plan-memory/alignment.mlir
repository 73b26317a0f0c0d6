// RUN: stepwell-opt %s -p 'plan-memory{alignment=256}' | filecheck %s

// Bindings of a device may have to begin at multiples of 256 bytes. The size is a sum of roundings, none around
// another.
// CHECK-LABEL: func.func @main
// CHECK-SAME: arena = "256 * ((4 * N) ceildiv 256) + 256 * ((8 * N) ceildiv 256) + 512"
func.func @main(%x: tensor<16xf32>, %y: tensor<?xf32> {graph.dims = #graph.dims<["N"]>}, %N: index) -> (tensor<16xf32>, tensor<?xf32> {graph.dims = #graph.dims<["N"]>}) attributes {sched.program = #sched.program<symbols = ["N"]>} {
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : index
  // CHECK: %[[A:.*]] = memref.view %{{.*}}[%[[ZERO]]]
  %a = func.call @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: %[[NEXT:.*]] = arith.constant 256 : index
  // CHECK: %[[B:.*]] = memref.view %{{.*}}[%[[NEXT]]]
  // CHECK-NEXT: func.call @k(%[[A]], %[[B]]) :
  %b = func.call @k(%a) : (tensor<16xf32>) -> tensor<16xf32>
  %c = func.call @k(%b) : (tensor<16xf32>) -> tensor<16xf32>
  %u = func.call @wide(%y, %N) : (tensor<?xf32>, index) -> tensor<?xf64>
  %v = func.call @narrow(%u, %N) : (tensor<?xf64>, index) -> tensor<?xf32>
  %w = func.call @same(%v, %N) : (tensor<?xf32>, index) -> tensor<?xf32>
  func.return %c, %w : tensor<16xf32>, tensor<?xf32>
}
func.func private @k(tensor<16xf32>) -> tensor<16xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>}
func.func private @wide(tensor<?xf32> {graph.dims = #graph.dims<["N"]>}, index) -> (tensor<?xf64> {graph.dims = #graph.dims<["N"]>}) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N"]>}
func.func private @narrow(tensor<?xf64> {graph.dims = #graph.dims<["N"]>}, index) -> (tensor<?xf32> {graph.dims = #graph.dims<["N"]>}) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N"]>}
func.func private @same(tensor<?xf32> {graph.dims = #graph.dims<["N"]>}, index) -> (tensor<?xf32> {graph.dims = #graph.dims<["N"]>}) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N"]>}
