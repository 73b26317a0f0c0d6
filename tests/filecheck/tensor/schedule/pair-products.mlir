// RUN: stepwell-opt %s -p 'pair-products{always=true}' --split-input-file | filecheck %s

// Neighbours along the sum become words: of rows in memory, of the columns' panels from two rows.
// CHECK-LABEL: @panels
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, (d1 * 2))>, affine_map<(d0, d1) -> (d0, ((d1 * 2) + 1))>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a, %a : tensor<64x96xbf16>, tensor<64x96xbf16>) outs(%{{.*}} : tensor<64x48xi32>)
// CHECK: ^bb0(%[[EVEN:.*]]: bf16, %[[ODD:.*]]: bf16, %{{.*}}: i32):
// CHECK: %[[LOW:.*]] = arith.bitcast %[[EVEN]] : bf16 to i16
// CHECK: %[[HIGH:.*]] = arith.bitcast %[[ODD]] : bf16 to i16
// CHECK: %[[L:.*]] = arith.extui %[[LOW]] : i16 to i32
// CHECK: %[[H:.*]] = arith.extui %[[HIGH]] : i16 to i32
// CHECK: %[[S:.*]] = arith.shli %[[H]]
// CHECK: arith.ori %[[S]], %[[L]] : i32
// CHECK: linalg.generic {{.*}}(d0, (d1 * 2), d2)>, affine_map<(d0, d1, d2) -> (d0, ((d1 * 2) + 1), d2)>{{.*}} ins(%b, %b : tensor<4x96x16xbf16>, tensor<4x96x16xbf16>) outs(%{{.*}} : tensor<4x48x16xi32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<64x48xi32>, tensor<4x48x16xi32>) outs(%c : tensor<64x4x16xf32>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: i32, %[[Y:.*]]: i32, %[[SUM:.*]]: f32):
// CHECK-NEXT: arith.dot_bfloats %[[X]], %[[Y]], %[[SUM]] : i32, f32
func.func private @panels(%a: tensor<64x96xbf16>, %b: tensor<4x96x16xbf16>, %c: tensor<64x4x16xf32>) -> tensor<64x4x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(m, p, n, k) -> (m, k)>, affine_map<(m, p, n, k) -> (p, k, n)>, affine_map<(m, p, n, k) -> (m, p, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<64x96xbf16>, tensor<4x96x16xbf16>) outs(%c : tensor<64x4x16xf32>) {
  ^bb0(%x: bf16, %y: bf16, %acc: f32):
    %u = arith.extf %x : bf16 to f32
    %v = arith.extf %y : bf16 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<64x4x16xf32>
  func.return %r : tensor<64x4x16xf32>
}

// -----

// An odd number of products has no pairs.
// CHECK-LABEL: @odd
// CHECK-NOT: arith.dot_bfloats
func.func private @odd(%a: tensor<64x95xbf16>, %b: tensor<95x64xbf16>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<64x95xbf16>, tensor<95x64xbf16>) outs(%c : tensor<64x64xf32>) {
  ^bb0(%x: bf16, %y: bf16, %acc: f32):
    %u = arith.extf %x : bf16 to f32
    %v = arith.extf %y : bf16 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<64x64xf32>
  func.return %r : tensor<64x64xf32>
}

// -----

// Few rows: the words of the matrix would be written to be read a few times.
// CHECK-LABEL: @few_rows
// CHECK-NOT: arith.dot_bfloats
func.func private @few_rows(%a: tensor<4x96xbf16>, %b: tensor<96x64xbf16>, %c: tensor<4x64xf32>) -> tensor<4x64xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x96xbf16>, tensor<96x64xbf16>) outs(%c : tensor<4x64xf32>) {
  ^bb0(%x: bf16, %y: bf16, %acc: f32):
    %u = arith.extf %x : bf16 to f32
    %v = arith.extf %y : bf16 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x64xf32>
  func.return %r : tensor<4x64xf32>
}
