// RUN: stepwell-opt %s --split-input-file -p apply-schedule | filecheck %s

// The sum's padding adds products of zeros, the padded columns are left out of the result.
// CHECK-LABEL: @k
// CHECK: tensor.insert_slice %B {{.*}} : tensor<10x18xf32> into tensor<10x24xf32>
// CHECK: tensor.insert_slice %A {{.*}} : tensor<6x10xf32> into tensor<6x12xf32>
// CHECK: tensor.insert_slice %{{.*}} : tensor<10x24xf32> into tensor<12x24xf32>
// CHECK: linalg.generic {{.*}} : tensor<6x12xf32>, tensor<12x24xf32>) outs(%{{.*}} : tensor<6x24xf32>)
// CHECK-SAME: tile = [0, 8, 4]
// CHECK-NOT: arith.select
// CHECK: tensor.extract_slice {{.*}} : tensor<6x24xf32> to tensor<6x18xf32>
#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<6x10xf32>, %B: tensor<10x18xf32>) -> tensor<6x18xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<6x18xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<6x18xf32>) -> tensor<6x18xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<6x10xf32>, tensor<10x18xf32>) outs(%D : tensor<6x18xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<6x18xf32>
  func.return %C : tensor<6x18xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  sched.pad %j to 8
  %i0, %j0, %r0 = sched.loops %c
  sched.pad %r0 to 4
  %i1, %j1, %r1 = sched.loops %c
  %j2, %j3 = sched.split %j1 by [?, 8]
  %r2, %r3 = sched.split %r1 by [?, 4]
  sched.reorder %j2, %r2, %i1, %j3, %r3
  sched.inside %i1, %j3, %r3
}

// -----

// Sums of quotients: a condition leaves the steps of padding out.
// CHECK-LABEL: @k
// CHECK: %[[I:.*]] = linalg.index 2 : index
// CHECK: %[[C:.*]] = arith.cmpi slt, %[[I]], %{{.*}} : index
// CHECK: arith.select %[[C]], %{{.*}}, %{{.*}} : f32
#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<6x10xf32>, %B: tensor<10x18xf32>) -> tensor<6x18xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<6x18xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<6x18xf32>) -> tensor<6x18xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<6x10xf32>, tensor<10x18xf32>) outs(%D : tensor<6x18xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.divf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<6x18xf32>
  func.return %C : tensor<6x18xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  sched.pad %r to 4
}
