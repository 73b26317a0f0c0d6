// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @scores
func.func @scores(%q: tensor<?x8x4xf32, #graph.dims<["B", 8, 4]>>, %k: tensor<?x6x4xf32, #graph.dims<["B", 6, 4]>>) {
  // CHECK: graph.einsum "bqd,bkd->bqk" %q, %k : ({{.*}}) -> tensor<?x8x6xf32, #graph.dims<["B", 8, 6]>>
  %0 = graph.einsum "bqd,bkd->bqk" %q, %k : (tensor<?x8x4xf32, #graph.dims<["B", 8, 4]>>, tensor<?x6x4xf32, #graph.dims<["B", 6, 4]>>) -> tensor<?x8x6xf32, #graph.dims<["B", 8, 6]>>
  func.return
}
