// RUN: stepwell-opt %s -p convert-graph-to-linalg | filecheck %s

// CHECK-LABEL: func.func private @k0
// CHECK-SAME: %[[A:.*]]: tensor<?x49x64xf16> {{.*}}, %[[B:.*]]: tensor<64x32xf16>, %[[N:.*]]: index
// Sums of f16 are kept in f32 and rounded once.
// CHECK: %[[INIT:.*]] = tensor.empty(%[[N]]) : tensor<?x49x32xf32>
// CHECK: %[[ZERO:.*]] = linalg.fill ins({{.*}}) outs(%[[INIT]] : {{.*}})
// CHECK: %[[SUM:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%[[A]], %[[B]] : {{.*}}) outs(%[[ZERO]] : tensor<?x49x32xf32>)
// CHECK: arith.extf
// CHECK: arith.mulf {{.*}} : f32
// CHECK: arith.addf {{.*}} : f32
// CHECK: linalg.generic {{.*}} ins(%[[SUM]] : tensor<?x49x32xf32>)
// CHECK: arith.truncf {{.*}} : f32 to f16
func.func @half(%a: tensor<?x49x64xf16, #graph.dims<["N", 49, 64]>>, %b: tensor<64x32xf16>) -> tensor<?x49x32xf16, #graph.dims<["N", 49, 32]>> {
  %0 = graph.fused (%p = %a : tensor<?x49x64xf16, #graph.dims<["N", 49, 64]>>, %q = %b : tensor<64x32xf16>) -> (tensor<?x49x32xf16, #graph.dims<["N", 49, 32]>>) {
    %1 = graph.matmul %p, %q : (tensor<?x49x64xf16, #graph.dims<["N", 49, 64]>>, tensor<64x32xf16>) -> tensor<?x49x32xf16, #graph.dims<["N", 49, 32]>>
    graph.yield %1 : tensor<?x49x32xf16, #graph.dims<["N", 49, 32]>>
  }
  func.return %0 : tensor<?x49x32xf16, #graph.dims<["N", 49, 32]>>
}

// A packed b: the result is a view of panels times lanes.
// CHECK-LABEL: func.func private @k1
// CHECK: %[[SUM:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
// CHECK-SAME: outs(%{{.*}} : tensor<8x2x16xf32>)
// CHECK: tensor.collapse_shape %[[SUM]] {{.*}} : tensor<8x2x16xf32> into tensor<8x32xf32>
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>]
func.func @packed(%a: tensor<8x64xf32>, %b: tensor<2x64x16xf32>, %c: tensor<32xf32>) -> tensor<8x32xf32> {
  %0 = graph.fused (%p = %a : tensor<8x64xf32>, %q = %b : tensor<2x64x16xf32>, %r = %c : tensor<32xf32>) -> (tensor<8x32xf32>) {
    %1 = graph.matmul %p, %q packing 16 : (tensor<8x64xf32>, tensor<2x64x16xf32>) -> tensor<8x32xf32>
    %2 = graph.bias_add %1, %r axis 1 : (tensor<8x32xf32>, tensor<32xf32>) -> tensor<8x32xf32>
    graph.yield %2 : tensor<8x32xf32>
  }
  func.return %0 : tensor<8x32xf32>
}
