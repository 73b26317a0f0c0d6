// RUN: stepwell-opt %s --split-input-file -p schedule-to-script | filecheck %s
// RUN: stepwell-opt %s --split-input-file -p schedule-to-script | stepwell-opt --split-input-file | filecheck %s

// CHECK-NOT: func.func
// CHECK: sched.script @product_schedule for "product" {
// CHECK-NEXT: %C = sched.stage "C"
// CHECK-NEXT: %i, %j, %r = sched.loops %C
// CHECK-NEXT: %i0, %i1 = sched.split %i by [?, 6]
// CHECK-NEXT: %j0, %j1 = sched.split %j by [?, 16]
// CHECK-NEXT: sched.reorder %j0, %i0, %r, %i1, %j1
// CHECK-NEXT: sched.parallel %j0, %i0
// CHECK-NEXT: sched.vectorize %j1
// CHECK-NEXT: sched.unroll %i1
// CHECK-NEXT: }
#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @product(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>)
    attrs = {sched.schedule = #sched.schedule<tile = [6, 16, 1], parallel = [1, 0], vectorize = 1>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}

// -----

// Names of ops and of loops are attributes; a loop that is long and untiled is left inside.
// CHECK: sched.script @named_schedule for "named" {
// CHECK-NEXT: %rows = sched.stage "rows"
// CHECK-NEXT: %row, %column = sched.loops %rows
// CHECK-NEXT: sched.reorder %row, %column
// CHECK-NEXT: sched.parallel %row
// CHECK-NEXT: sched.inside %column
// CHECK-NEXT: }
#all = affine_map<(i, j) -> (i, j)>
func.func private @named(%A: tensor<32x480xf32>, %D: tensor<32x480xf32>) -> tensor<32x480xf32> {
  %C = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
    ins(%A : tensor<32x480xf32>) outs(%D : tensor<32x480xf32>)
    attrs = {sched.name = "rows", sched.loops = ["row", "column"], sched.schedule = #sched.schedule<tile = [1, 0], parallel = [0]>} {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  } -> tensor<32x480xf32>
  func.return %C : tensor<32x480xf32>
}

// -----

// CHECK: sched.script @scan_schedule for "scan" {
// CHECK-NEXT: %y = sched.stage "y"
// CHECK-NEXT: sched.set_form %y to "columns"
// CHECK-NEXT: sched.set_size %y "columns" to 32
// CHECK-NEXT: }
func.func private @scan(%x: tensor<8x64xf32>, %e: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %y = linalg_ext.scan %x into %e kind "sum" axis 0 exclusive false reverse false
    {sched.schedule = #sched.schedule<form = "columns", sizes = {columns = 32}>} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  func.return %y : tensor<8x64xf32>
}

// -----

// CHECK: sched.script @k_schedule for "k" {
// CHECK-NEXT: %C = sched.stage "C"
// CHECK-NEXT: %F = sched.stage "F"
// CHECK-NEXT: %i, %j = sched.loops %F
// CHECK-NEXT: %i0, %i1 = sched.split %i by [?, 8]
// CHECK-NEXT: sched.reorder %i0, %j, %i1
// CHECK-NEXT: sched.parallel %i0
// CHECK-NEXT: sched.unroll %i1
// CHECK-NEXT: sched.compute_at %C in %F
#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
#d = affine_map<(i, j) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) attrs = {sched.at = "F"} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  %F = linalg.generic {indexing_maps = [#d, #d], iterator_types = ["parallel", "parallel"]}
    ins(%C : tensor<32x48xf32>) outs(%D : tensor<32x48xf32>) attrs = {sched.name = "F", sched.schedule = #sched.schedule<tile = [8, 1], parallel = [0]>} {
  ^bb0(%x: f32, %y: f32):
    %p = arith.addf %x, %x : f32
    linalg.yield %p : f32
  } -> tensor<32x48xf32>
  func.return %F : tensor<32x48xf32>
}
