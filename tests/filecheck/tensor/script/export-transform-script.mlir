// RUN: stepwell-opt %s -p export-transform-script | filecheck %s
// RUN: stepwell-opt %s --remarks -p export-transform-script 2>&1 | filecheck %s --check-prefix=REMARK

// REMARK: not exported: unroll
// CHECK: builtin.module attributes {transform.with_named_sequence}
// CHECK-NEXT: transform.named_sequence @__transform_main(%[[M:.*]]: !transform.any_op {transform.readonly})
// CHECK-NEXT: %[[K:.*]] = transform.structured.match ops{["func.func"]} attributes {sym_name = "k"} in %[[M]]
// CHECK-NEXT: %[[OPS:.*]] = transform.structured.match ops{["linalg.fill", "linalg.generic"]} in %[[K]]
// CHECK-NEXT: %[[F:.*]], %[[C:.*]] = "transform.split_handle"(%[[OPS]])
// CHECK-NEXT: %[[B:.*]], %{{.*}} = transform.structured.tile_using_for %[[C]] tile_sizes [0, 0, 64]
// CHECK-NEXT: %[[J:.*]], %{{.*}} = "transform.structured.tile_using_forall"(%[[B]])
// CHECK-SAME: static_tile_sizes = array<i64: 0, 16, 0>
// CHECK-NEXT: %[[I:.*]], %{{.*}} = "transform.structured.tile_using_forall"(%[[J]])
// CHECK-SAME: static_tile_sizes = array<i64: 6, 0, 0>
// CHECK-NEXT: %[[R:.*]], %{{.*}} = transform.structured.tile_using_for %[[I]] tile_sizes [0, 0, 1]
// CHECK-NEXT: "transform.structured.vectorize"(%[[R]])
// CHECK-SAME: static_vector_sizes = array<i64: 6, 16, 1>
// CHECK-NEXT: transform.yield
#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x128xf32>, %B: tensor<128x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x48xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x48xf32>) -> tensor<32x48xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x128xf32>, tensor<128x48xf32>) outs(%D : tensor<32x48xf32>)
    attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 0, 64]>, <tile = [6, 16, 1], parallel = [1, 0]>], vectorize = 1, unroll = [2]>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
