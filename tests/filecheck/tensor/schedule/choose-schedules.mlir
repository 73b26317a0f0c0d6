// RUN: stepwell-opt %s -p 'fill-borders,generalize-copies,collapse-loops,choose-schedules{mcpu=x86-64-v4}' --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p 'fill-borders,generalize-copies,collapse-loops,choose-schedules{mcpu=x86-64-v3}' --split-input-file | filecheck %s --check-prefix=AVX2

// 14 rows by two registers: 28 sums, one broadcast and two panels in 32 registers; 6 by two in 16.
// CHECK-LABEL: @matmul
// CHECK: attrs = {sched.schedule = #sched.schedule<tile = [14, 2, 0, 1], parallel = [1, 0], vectorize = 2>}
// AVX2-LABEL: @matmul
// AVX2: attrs = {sched.schedule = #sched.schedule<tile = [6, 1, 0, 1], parallel = [1, 0], vectorize = 2>}
func.func private @matmul(%a: tensor<196x256xf32>, %b: tensor<64x256x16xf32>) -> tensor<196x64x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<196x64x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<196x64x16xf32>) -> tensor<196x64x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, no, ni, k) -> (m, k)>, affine_map<(m, no, ni, k) -> (no, k, ni)>, affine_map<(m, no, ni, k) -> (m, no, ni)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<196x256xf32>, tensor<64x256x16xf32>) outs(%f : tensor<196x64x16xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<196x64x16xf32>
  func.return %r : tensor<196x64x16xf32>
}

// -----

// Vectors of f16 are widened as they are read: tall tiles do that less often (7 by 4 registers for f32).
// CHECK-LABEL: @half
// CHECK: #sched.schedule<tile = [14, 1, 0, 1], parallel = [1, 0], vectorize = 2>
func.func private @half(%a: tensor<49x512xf32>, %b: tensor<64x512x32xf16>, %y: tensor<49x64x32xf32>) -> tensor<49x64x32xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(m, no, ni, k) -> (m, k)>, affine_map<(m, no, ni, k) -> (no, k, ni)>, affine_map<(m, no, ni, k) -> (m, no, ni)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<49x512xf32>, tensor<64x512x32xf16>) outs(%y : tensor<49x64x32xf32>) {
  ^bb0(%x: f32, %w: f16, %acc: f32):
    %v = arith.extf %w : f16 to f32
    %m = arith.mulf %x, %v : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<49x64x32xf32>
  func.return %r : tensor<49x64x32xf32>
}

// -----

// Rows 8 KiB apart share one place of the level-1 cache, which has 8 ways: no taller tile. Of 8000 bytes, 16.
// CHECK-LABEL: @crowded
// CHECK: #sched.schedule<tile = [8, 0, 1], parallel = [0], vectorize = 1>
// CHECK: #sched.schedule<tile = [16, 0, 1], parallel = [0], vectorize = 1>
func.func private @crowded(%a: tensor<2048x2048xf32>, %b: tensor<2048x16xf32>, %c: tensor<2048x2000xf32>, %d: tensor<2000x16xf32>, %y: tensor<2048x16xf32>, %z: tensor<2048x16xf32>) -> (tensor<2048x16xf32>, tensor<2048x16xf32>) attributes {sched.kernel = #sched.kernel<inputs = 6, outputs = 2>} {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<2048x2048xf32>, tensor<2048x16xf32>) outs(%y : tensor<2048x16xf32>) {
  ^bb0(%x: f32, %w: f32, %acc: f32):
    %m = arith.mulf %x, %w : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<2048x16xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%c, %d : tensor<2048x2000xf32>, tensor<2000x16xf32>) outs(%z : tensor<2048x16xf32>) {
  ^bb0(%x: f32, %w: f32, %acc: f32):
    %m = arith.mulf %x, %w : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<2048x16xf32>
  func.return %r, %t : tensor<2048x16xf32>, tensor<2048x16xf32>
}

// -----

// Both operands of a product with a transposed matrix lie along the sum: so do the lanes.
// CHECK-LABEL: @transposed
// CHECK: #sched.schedule<tile = [4, 4, 16], parallel = [0, 1], vectorize = 2>
func.func private @transposed(%a: tensor<128x64xf32>, %b: tensor<128x64xf32>, %c: tensor<128x128xf32>) -> tensor<128x128xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<128x64xf32>, tensor<128x64xf32>) outs(%c : tensor<128x128xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<128x128xf32>
  func.return %r : tensor<128x128xf32>
}

// -----

// A convolution: columns and blocks of channels in the tile; weights that fit the cache let rows go outside.
// CHECK-LABEL: @conv
// CHECK: #sched.schedule<tile = [0, 2, 1, 14, 0, 1, 1, 1, 1], parallel = [2, 1, 3], vectorize = 4>
func.func private @conv(%x: tensor<1x4x58x58x16xf32>, %w: tensor<4x4x3x3x16x16xf32>, %y: tensor<1x4x56x56x16xf32>) -> tensor<1x4x56x56x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(n, o, h, w, oi, c, r, s, ci) -> (n, c, h + r, w + s, ci)>, affine_map<(n, o, h, w, oi, c, r, s, ci) -> (o, c, r, s, ci, oi)>, affine_map<(n, o, h, w, oi, c, r, s, ci) -> (n, o, h, w, oi)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<1x4x58x58x16xf32>, tensor<4x4x3x3x16x16xf32>) outs(%y : tensor<1x4x56x56x16xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x4x56x56x16xf32>
  func.return %r : tensor<1x4x56x56x16xf32>
}

// -----

// The ops of a row share its loop; each goes along a long row by itself, four registers at a time; three rows at
// a time hide latencies, as they are read again.
// CHECK-LABEL: @row
// CHECK: iterator_types = ["parallel", "reduction"]
// CHECK-SAME: #sched.schedule<tile = [3, 64], parallel = [0], vectorize = 1>
// CHECK: iterator_types = ["parallel", "parallel"]
// CHECK-SAME: #sched.schedule<tile = [0, 64], vectorize = 1>
func.func private @row(%x: tensor<9x500xf32>, %low: tensor<9xf32>) -> tensor<9x500xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<9x500xf32>) outs(%low : tensor<9xf32>) {
  ^bb0(%a: f32, %s: f32):
    %t = arith.maximumf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<9xf32>
  %e = tensor.empty() : tensor<9x500xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<9x500xf32>, tensor<9xf32>) outs(%e : tensor<9x500xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %t = arith.subf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<9x500xf32>
  func.return %r : tensor<9x500xf32>
}

// -----

// A function of long rows: its registers hide latencies.
// CHECK-LABEL: @row_of_functions
// CHECK: #sched.schedule<tile = [1, 64], parallel = [0], vectorize = 1>
func.func private @row_of_functions(%x: tensor<12x500xf32>, %low: tensor<12xf32>) -> tensor<12x500xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<12x500xf32>) outs(%low : tensor<12xf32>) {
  ^bb0(%a: f32, %s: f32):
    %t = arith.maximumf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<12xf32>
  %e = tensor.empty() : tensor<12x500xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<12x500xf32>, tensor<12xf32>) outs(%e : tensor<12x500xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %t = math.exp %a : f32
    linalg.yield %t : f32
  } -> tensor<12x500xf32>
  func.return %r : tensor<12x500xf32>
}

// -----

// Long rows that are read once.
// CHECK-LABEL: @row_alone
// CHECK: #sched.schedule<tile = [1, 64], parallel = [0], vectorize = 1>
func.func private @row_alone(%x: tensor<12x500xf32>, %low: tensor<12xf32>) -> tensor<12xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<12x500xf32>) outs(%low : tensor<12xf32>) {
  ^bb0(%a: f32, %s: f32):
    %t = arith.maximumf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<12xf32>
  func.return %m : tensor<12xf32>
}

// -----

// Short rows whole, in three quarters of the registers together; in half of them where functions need some.
// CHECK-LABEL: @short_rows
// CHECK: #sched.schedule<tile = [3, 0], parallel = [0], vectorize = 1>
func.func private @short_rows(%x: tensor<12x128xf32>, %low: tensor<12xf32>) -> tensor<12x128xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<12x128xf32>) outs(%low : tensor<12xf32>) {
  ^bb0(%a: f32, %s: f32):
    %t = arith.maximumf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<12xf32>
  %e = tensor.empty() : tensor<12x128xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<12x128xf32>, tensor<12xf32>) outs(%e : tensor<12x128xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %t = arith.subf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<12x128xf32>
  func.return %r : tensor<12x128xf32>
}

// -----

// CHECK-LABEL: @short_rows_of_functions
// CHECK: #sched.schedule<tile = [2, 0], parallel = [0], vectorize = 1>
func.func private @short_rows_of_functions(%x: tensor<12x128xf32>, %low: tensor<12xf32>) -> tensor<12x128xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<12x128xf32>) outs(%low : tensor<12xf32>) {
  ^bb0(%a: f32, %s: f32):
    %t = arith.maximumf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<12xf32>
  %e = tensor.empty() : tensor<12x128xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<12x128xf32>, tensor<12xf32>) outs(%e : tensor<12x128xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %t = math.exp %a : f32
    linalg.yield %t : f32
  } -> tensor<12x128xf32>
  func.return %r : tensor<12x128xf32>
}

// -----

// A long body after a product, four rows of a vector at a time.
// CHECK-LABEL: @functions_after_product
// CHECK: iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME: #sched.schedule<tile = [24, 0, 1], parallel = [0], vectorize = 1>
// CHECK: iterator_types = ["parallel", "parallel"]
// CHECK-SAME: #sched.schedule<tile = [4, 0], vectorize = 1>
#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
#d = affine_map<(i, j) -> (i, j)>
func.func private @functions_after_product(%A: tensor<96x64xf32>, %B: tensor<64x16xf32>) -> tensor<96x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<96x16xf32>
  %D = linalg.fill ins(%zero : f32) outs(%e : tensor<96x16xf32>) -> tensor<96x16xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<96x64xf32>, tensor<64x16xf32>) outs(%D : tensor<96x16xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<96x16xf32>
  %F = linalg.generic {indexing_maps = [#d, #d], iterator_types = ["parallel", "parallel"]}
    ins(%C : tensor<96x16xf32>) outs(%e : tensor<96x16xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = math.exp %x : f32
    %q = arith.addf %p, %one : f32
    %r = math.log %q : f32
    linalg.yield %r : f32
  } -> tensor<96x16xf32>
  func.return %F : tensor<96x16xf32>
}

// -----

// A schedule written by hand stays, and its group gets no other.
// CHECK-LABEL: @by_hand
// CHECK: #sched.schedule<tile = [32], parallel = [0]>
// CHECK-NOT: sched.schedule
func.func private @by_hand(%x: tensor<64xf32>) -> tensor<64xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %e = tensor.empty() : tensor<64xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) attrs = {sched.schedule = #sched.schedule<tile = [32], parallel = [0]>} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.negf %a : f32
    linalg.yield %v : f32
  } -> tensor<64xf32>
  %e2 = tensor.empty() : tensor<64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%n : tensor<64xf32>) outs(%e2 : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.addf %a, %a : f32
    linalg.yield %v : f32
  } -> tensor<64xf32>
  func.return %r : tensor<64xf32>
}

// -----

// Windows over an image whose width is known at run time only: a tile of it is a slice of known size.
// CHECK-LABEL: @open_width
// CHECK: #sched.schedule<tile = [5, 0, 0, 1, 1], {{.*}}parallel = [0{{.*}}], vectorize = 2>
func.func private @open_width(%x: tensor<?x16xf32>, %w: tensor<2x3x16x16xf32>, %p: tensor<?x2x16xf32>) -> tensor<?x2x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(w, o, l, k, c) -> (w + k, c)>, affine_map<(w, o, l, k, c) -> (o, k, c, l)>, affine_map<(w, o, l, k, c) -> (w, o, l)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %w : tensor<?x16xf32>, tensor<2x3x16x16xf32>) outs(%p : tensor<?x2x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<?x2x16xf32>
  func.return %r : tensor<?x2x16xf32>
}

// -----

// 512 rows that are 2 KiB apart share 8 of the 64 sets of a level-1 cache: blocks read whole lines of them.
// CHECK-LABEL: @turned_lines
// CHECK: #sched.schedule<tile = [16, 16], parallel = [0, 1], vectorize = 1>
// AVX2-LABEL: @turned_lines
// AVX2: #sched.schedule<tile = [16, 8], parallel = [0, 1], vectorize = 1>
func.func private @turned_lines(%x: tensor<256x512xf32>, %e: tensor<512x256xf32>) -> tensor<512x256xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<256x512xf32>) outs(%e : tensor<512x256xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<512x256xf32>
  func.return %r : tensor<512x256xf32>
}

// -----

// And where they leave the level-2 cache as well, blocks go on along them, and write whole lines.
// CHECK-LABEL: @turned_along
// CHECK: #sched.schedule<tile = [16, 16], parallel = [1, 0], vectorize = 1>
// AVX2-LABEL: @turned_along
// AVX2: #sched.schedule<tile = [8, 16], parallel = [1, 0], vectorize = 1>
func.func private @turned_along(%x: tensor<1024x1024xf32>, %e: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<1024x1024xf32>
  func.return %r : tensor<1024x1024xf32>
}

// -----

// What is fused reads transposed: blocks as well, or each vector of it would be gathered.
// CHECK-LABEL: @turned_and_added
// CHECK: ins(%x : tensor<40x100xf32>) outs(%e : tensor<100x40xf32>) {
// CHECK: ins(%t, %y {{.*}}#sched.schedule<tile = [16, 16], parallel = [0, 1], vectorize = 1>
// AVX2-LABEL: @turned_and_added
// AVX2: ins(%x : tensor<40x100xf32>) outs(%e : tensor<100x40xf32>) {
// AVX2: ins(%t, %y {{.*}}#sched.schedule<tile = [8, 8], parallel = [0, 1], vectorize = 1>
func.func private @turned_and_added(%x: tensor<40x100xf32>, %y: tensor<100x40xf32>, %e: tensor<100x40xf32>) -> tensor<100x40xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<40x100xf32>) outs(%e : tensor<100x40xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<100x40xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%t, %y : tensor<100x40xf32>, tensor<100x40xf32>) outs(%e : tensor<100x40xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<100x40xf32>
  func.return %r : tensor<100x40xf32>
}

// -----

// The operand lies along the other loop: square blocks, which are transposed in registers.
// CHECK-LABEL: @turned
// CHECK: #sched.schedule<tile = [16, 16], parallel = [0, 1], vectorize = 1>
// AVX2-LABEL: @turned
// AVX2: #sched.schedule<tile = [8, 8], parallel = [0, 1], vectorize = 1>
func.func private @turned(%x: tensor<40x100xf32>, %e: tensor<100x40xf32>) -> tensor<100x40xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<40x100xf32>) outs(%e : tensor<100x40xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<100x40xf32>
  func.return %r : tensor<100x40xf32>
}

// -----

// Three channels are too few for blocks.
// CHECK-LABEL: @few
// CHECK: #sched.schedule<tile = [9, 0], parallel = [0], vectorize = 1>
func.func private @few(%x: tensor<3x63xf32>, %e: tensor<63x3xf32>) -> tensor<63x3xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x63xf32>) outs(%e : tensor<63x3xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<63x3xf32>
  func.return %r : tensor<63x3xf32>
}

// -----

// A reduction that follows another one along results has its own loop over what it reduces.
// CHECK-LABEL: @follows
// CHECK: attrs = {sched.schedule = #sched.schedule<tile = [1, 64], parallel = [1], vectorize = 1>}
// CHECK: attrs = {sched.schedule = #sched.schedule<tile = [1, 0], vectorize = 1>}
func.func private @follows(%x: tensor<512x128xf32>, %lowest: tensor<128xf32>, %none: tensor<128xf32>) -> tensor<128xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %top = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<512x128xf32>) outs(%lowest : tensor<128xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.maximumf %b, %a : f32
    linalg.yield %m : f32
  } -> tensor<128xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x, %top : tensor<512x128xf32>, tensor<128xf32>) outs(%none : tensor<128xf32>) {
  ^bb0(%a: f32, %t: f32, %b: f32):
    %d = arith.subf %a, %t : f32
    %s = arith.addf %b, %d : f32
    linalg.yield %s : f32
  } -> tensor<128xf32>
  func.return %r : tensor<128xf32>
}

// -----

// A long body over the whole of a short reduction, such as softmax over channels, is a loop: written out, the
// vectors of all steps would be alive at once.
// CHECK-LABEL: @exponentials
// CHECK: attrs = {sched.schedule = #sched.schedule<tile = [1, 64], parallel = [1], vectorize = 1>}
// CHECK: attrs = {sched.schedule = #sched.schedule<tile = [1, 0], vectorize = 1>}
func.func private @exponentials(%x: tensor<21x128xf32>, %lowest: tensor<128xf32>, %e: tensor<21x128xf32>) -> tensor<21x128xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %top = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<21x128xf32>) outs(%lowest : tensor<128xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.maximumf %b, %a : f32
    linalg.yield %m : f32
  } -> tensor<128xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %top : tensor<21x128xf32>, tensor<128xf32>) outs(%e : tensor<21x128xf32>) {
  ^bb0(%a: f32, %t: f32, %o: f32):
    %d = arith.subf %a, %t : f32
    %p = math.exp %d : f32
    linalg.yield %p : f32
  } -> tensor<21x128xf32>
  func.return %r : tensor<21x128xf32>
}

// -----

// More rows than a tile may have are a loop even for the shortest body, such as softmax's last one.
// CHECK-LABEL: @many_short
// CHECK: attrs = {sched.schedule = #sched.schedule<tile = [1, 64], parallel = [1], vectorize = 1>}
// CHECK: attrs = {sched.schedule = #sched.schedule<tile = [1, 0], vectorize = 1>}
func.func private @many_short(%x: tensor<64x1000xf32>, %lowest: tensor<1000xf32>, %e: tensor<64x1000xf32>) -> tensor<64x1000xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %top = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<64x1000xf32>) outs(%lowest : tensor<1000xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.maximumf %b, %a : f32
    linalg.yield %m : f32
  } -> tensor<1000xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %top : tensor<64x1000xf32>, tensor<1000xf32>) outs(%e : tensor<64x1000xf32>) {
  ^bb0(%a: f32, %t: f32, %o: f32):
    %d = arith.divf %a, %t : f32
    linalg.yield %d : f32
  } -> tensor<64x1000xf32>
  func.return %r : tensor<64x1000xf32>
}

// -----

// Long rows are summed many columns at a time; not where other loops follow along them.
// CHECK-LABEL: @long_rows
// CHECK: attrs = {sched.schedule = #sched.schedule<tile = [1, 256], parallel = [1], vectorize = 1>}
// AVX2-LABEL: @long_rows
// AVX2: attrs = {sched.schedule = #sched.schedule<tile = [1, 64], parallel = [1], vectorize = 1>}
func.func private @long_rows(%x: tensor<64x2048xf32>, %zero: tensor<2048xf32>) -> tensor<2048xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<64x2048xf32>) outs(%zero : tensor<2048xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.addf %b, %a : f32
    linalg.yield %m : f32
  } -> tensor<2048xf32>
  func.return %s : tensor<2048xf32>
}

// -----

// Elements at positions in data: a register of positions, when each lane has its own; loops read neighbours.
// CHECK-LABEL: @elements
// CHECK: attrs = {sched.schedule = #sched.schedule<tile = [1, 8], parallel = [0, 1], vectorize = 1>}
// CHECK: attrs = {sched.schedule = #sched.schedule<tile = [
// CHECK-NOT: vectorize
// CHECK: func.return
// AVX2-LABEL: @elements
// AVX2: attrs = {sched.schedule = #sched.schedule<tile = [1, 4], parallel = [0, 1], vectorize = 1>}
func.func private @elements(%i: tensor<64x100xi64>, %j: tensor<64xi64>, %x: tensor<64x100xf32>, %e: tensor<64x100xf32>) -> (tensor<64x100xf32>, tensor<64x100xf32>) attributes {sched.kernel = #sched.kernel<inputs = 4, outputs = 2>} {
  %own = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%i : tensor<64x100xi64>) outs(%e : tensor<64x100xf32>) {
  ^bb0(%a: i64, %b: f32):
    %row = linalg.index 0 : index
    %at = arith.index_cast %a : i64 to index
    %v = tensor.extract %x[%row, %at] : tensor<64x100xf32>
    linalg.yield %v : f32
  } -> tensor<64x100xf32>
  %rows = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%j : tensor<64xi64>) outs(%e : tensor<64x100xf32>) {
  ^bb0(%a: i64, %b: f32):
    %column = linalg.index 1 : index
    %at = arith.index_cast %a : i64 to index
    %v = tensor.extract %x[%at, %column] : tensor<64x100xf32>
    linalg.yield %v : f32
  } -> tensor<64x100xf32>
  func.return %own, %rows : tensor<64x100xf32>, tensor<64x100xf32>
}

// -----

// Channels that alternate in memory are taken apart in registers, all at once; not a part of longer rows.
// CHECK-LABEL: @alternating
// CHECK: attrs = {sched.schedule = #sched.schedule<tile = [0, 16], parallel = [1], vectorize = 1>}
// CHECK: attrs = {sched.schedule = #sched.schedule<tile = [1, 128], parallel = [0, 1], vectorize = 1>}
// AVX2-LABEL: @alternating
// AVX2: attrs = {sched.schedule = #sched.schedule<tile = [0, 8], parallel = [1], vectorize = 1>}
func.func private @alternating(%x: tensor<640x3xf32>, %long: tensor<640x4xf32>, %e: tensor<3x640xf32>) -> (tensor<3x640xf32>, tensor<3x640xf32>) attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 2>} {
  %all = linalg.generic {indexing_maps = [affine_map<(c, p) -> (p, c)>, affine_map<(c, p) -> (c, p)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<640x3xf32>) outs(%e : tensor<3x640xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<3x640xf32>
  %part = linalg.generic {indexing_maps = [affine_map<(c, p) -> (p, c + 1)>, affine_map<(c, p) -> (c, p)>], iterator_types = ["parallel", "parallel"]} ins(%long : tensor<640x4xf32>) outs(%e : tensor<3x640xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<3x640xf32>
  func.return %all, %part : tensor<3x640xf32>, tensor<3x640xf32>
}

// -----

// What is read once is written to all its places, when they are few.
// CHECK-LABEL: @copies
// CHECK: attrs = {sched.schedule = #sched.schedule<tile = [0, 128], parallel = [1], vectorize = 1>}
// CHECK: attrs = {sched.schedule = #sched.schedule<tile = [1, 128], parallel = [0, 1], vectorize = 1>}
// AVX2-LABEL: @copies
// AVX2: attrs = {sched.schedule = #sched.schedule<tile = [0, 64], parallel = [1], vectorize = 1>}
func.func private @copies(%x: tensor<640xf32>, %e: tensor<2x640xf32>, %f: tensor<9x640xf32>) -> (tensor<2x640xf32>, tensor<9x640xf32>) attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 2>} {
  %few = linalg.generic {indexing_maps = [affine_map<(r, i) -> (i)>, affine_map<(r, i) -> (r, i)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<640xf32>) outs(%e : tensor<2x640xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<2x640xf32>
  %many = linalg.generic {indexing_maps = [affine_map<(r, i) -> (i)>, affine_map<(r, i) -> (r, i)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<640xf32>) outs(%f : tensor<9x640xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<9x640xf32>
  func.return %few, %many : tensor<2x640xf32>, tensor<9x640xf32>
}

// -----

// Columns see zeros by 12 of 25 of their steps: a tile runs along rows, so that each column leaves them out.
// CHECK-LABEL: @narrow_image
// CHECK: #sched.schedule<tile = [24, 1, 0, 1, 1], parallel = [1, 0], vectorize = 2>
func.func private @narrow_image(%x: tensor<48x5x8xf32>, %w: tensor<5x8x16xf32>, %y: tensor<48x5x16xf32>) -> tensor<48x5x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<48x13x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x13x8xf32>) -> tensor<48x13x8xf32>
  %in = tensor.insert_slice %x into %f[0, 4, 0] [48, 5, 8] [1, 1, 1] : tensor<48x5x8xf32> into tensor<48x13x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(h, w, o, k, c) -> (h, w + k * 2, c)>, affine_map<(h, w, o, k, c) -> (k, c, o)>, affine_map<(h, w, o, k, c) -> (h, w, o)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%in, %w : tensor<48x13x8xf32>, tensor<5x8x16xf32>) outs(%y : tensor<48x5x16xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<48x5x16xf32>
  func.return %r : tensor<48x5x16xf32>
}

// -----

// Few of them do in narrower borders.
// CHECK-LABEL: @narrow_border
// CHECK: #sched.schedule<tile = [1, 0, 0, 1, 1], parallel = [0], vectorize = 2>
func.func private @narrow_border(%x: tensor<48x5x8xf32>, %w: tensor<3x8x16xf32>, %y: tensor<48x5x16xf32>) -> tensor<48x5x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<48x7x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x7x8xf32>) -> tensor<48x7x8xf32>
  %in = tensor.insert_slice %x into %f[0, 1, 0] [48, 5, 8] [1, 1, 1] : tensor<48x5x8xf32> into tensor<48x7x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(h, w, o, k, c) -> (h, w + k, c)>, affine_map<(h, w, o, k, c) -> (k, c, o)>, affine_map<(h, w, o, k, c) -> (h, w, o)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%in, %w : tensor<48x7x8xf32>, tensor<3x8x16xf32>) outs(%y : tensor<48x5x16xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<48x5x16xf32>
  func.return %r : tensor<48x5x16xf32>
}

// -----

// A sum of two terms is looped as any other; a sum of one needs no loop.
// CHECK-LABEL: @two_steps
// CHECK: #sched.schedule<tile = [0, 1, 0, 1], parallel = [1], vectorize = 2>
func.func private @two_steps(%a: tensor<20x2xf32>, %b: tensor<3x2x16xf32>) -> tensor<20x3x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<20x3x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<20x3x16xf32>) -> tensor<20x3x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, no, ni, k) -> (m, k)>, affine_map<(m, no, ni, k) -> (no, k, ni)>, affine_map<(m, no, ni, k) -> (m, no, ni)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<20x2xf32>, tensor<3x2x16xf32>) outs(%f : tensor<20x3x16xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<20x3x16xf32>
  func.return %r : tensor<20x3x16xf32>
}

// -----

// CHECK-LABEL: @one_step
// CHECK: #sched.schedule<tile = [0, 1, 0, 0], parallel = [1], vectorize = 2>
func.func private @one_step(%a: tensor<20x1xf32>, %b: tensor<3x1x16xf32>) -> tensor<20x3x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<20x3x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<20x3x16xf32>) -> tensor<20x3x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, no, ni, k) -> (m, k)>, affine_map<(m, no, ni, k) -> (no, k, ni)>, affine_map<(m, no, ni, k) -> (m, no, ni)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<20x1xf32>, tensor<3x1x16xf32>) outs(%f : tensor<20x3x16xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<20x3x16xf32>
  func.return %r : tensor<20x3x16xf32>
}

// -----

// Three rows of 128 fill 24 of 32 registers, which hide the latency of their sums; in 16 no row is whole.
// CHECK-LABEL: @whole_rows
// CHECK: #sched.schedule<tile = [3, 0], parallel = [0], vectorize = 1>
// CHECK: #sched.schedule<tile = [1, 0], parallel = [0], vectorize = 1>
// AVX2-LABEL: @whole_rows
// AVX2: #sched.schedule<tile = [1, 32], parallel = [0], vectorize = 1>
func.func private @whole_rows(%x: tensor<1536x128xf32>, %y: tensor<3x128xf32>, %e: tensor<1536xf32>, %f: tensor<3xf32>) -> (tensor<1536xf32>, tensor<3xf32>) attributes {sched.kernel = #sched.kernel<inputs = 4, outputs = 2>} {
  %many = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<1536x128xf32>) outs(%e : tensor<1536xf32>) {
  ^bb0(%a: f32, %s: f32):
    %t = arith.maximumf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<1536xf32>
  %few = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%y : tensor<3x128xf32>) outs(%f : tensor<3xf32>) {
  ^bb0(%a: f32, %s: f32):
    %t = arith.maximumf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<3xf32>
  func.return %many, %few : tensor<1536xf32>, tensor<3xf32>
}

// -----

// Tiles of a function are long, since its coefficients are loaded once a tile; of two functions shorter.
// CHECK-LABEL: @functions
// CHECK: #sched.schedule<tile = [96], parallel = [0], vectorize = 0>
// CHECK: #sched.schedule<tile = [64], parallel = [0], vectorize = 0>
// AVX2-LABEL: @functions
// AVX2: #sched.schedule<tile = [48], parallel = [0], vectorize = 0>
// AVX2: #sched.schedule<tile = [32], parallel = [0], vectorize = 0>
func.func private @functions(%x: tensor<9600xf32>, %e: tensor<9600xf32>) -> (tensor<9600xf32>, tensor<9600xf32>) attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 2>} {
  %one = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<9600xf32>) outs(%e : tensor<9600xf32>) {
  ^bb0(%a: f32, %b: f32):
    %t = math.exp %a : f32
    linalg.yield %t : f32
  } -> tensor<9600xf32>
  %two = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<9600xf32>) outs(%e : tensor<9600xf32>) {
  ^bb0(%a: f32, %b: f32):
    %t = math.exp %a : f32
    %u = math.log1p %t : f32
    linalg.yield %u : f32
  } -> tensor<9600xf32>
  func.return %one, %two : tensor<9600xf32>, tensor<9600xf32>
}

// -----

// Tiles are of the last two loops: another number of blocks of channels outside leaves the schedule the same.
// CHECK-LABEL: @blocks
// CHECK: #sched.schedule<tile = [1, 1, 0], parallel = [0, 1], vectorize = 2>
func.func private @blocks(%x: tensor<8x7x16xf32>, %y: tensor<8x16xf32>, %e: tensor<8x7x16xf32>) -> tensor<8x7x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(c, p, l) -> (c, p, l)>, affine_map<(c, p, l) -> (c, l)>, affine_map<(c, p, l) -> (c, p, l)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %y : tensor<8x7x16xf32>, tensor<8x16xf32>) outs(%e : tensor<8x7x16xf32>) {
  ^bb0(%a: f32, %n: f32, %b: f32):
    %t = arith.addf %a, %n : f32
    linalg.yield %t : f32
  } -> tensor<8x7x16xf32>
  func.return %r : tensor<8x7x16xf32>
}

// -----

// A feature map beyond the level-2 cache, in 128 blocks of channels: panels are inside of the rows of pixels.
// CHECK-LABEL: @many_blocks
// AVX2: #sched.schedule<tile = [2, 6, 0, 1, 1], parallel = [1, 0], vectorize = 2>
func.func private @many_blocks(%x: tensor<128x196x8xf32>, %w: tensor<32x128x8x8xf32>, %e: tensor<32x196x8xf32>) -> tensor<32x196x8xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(o, p, l, c, i) -> (c, p, i)>, affine_map<(o, p, l, c, i) -> (o, c, i, l)>, affine_map<(o, p, l, c, i) -> (o, p, l)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %w : tensor<128x196x8xf32>, tensor<32x128x8x8xf32>) outs(%e : tensor<32x196x8xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<32x196x8xf32>
  func.return %r : tensor<32x196x8xf32>
}

// -----

// In 8 blocks, all of which are fetched ahead: rows are inside of panels.
// CHECK-LABEL: @few_blocks
// AVX2: #sched.schedule<tile = [2, 6, 0, 1, 1], parallel = [0, 1], vectorize = 2>
func.func private @few_blocks(%x: tensor<8x3136x8xf32>, %w: tensor<32x8x8x8xf32>, %e: tensor<32x3136x8xf32>) -> tensor<32x3136x8xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(o, p, l, c, i) -> (c, p, i)>, affine_map<(o, p, l, c, i) -> (o, c, i, l)>, affine_map<(o, p, l, c, i) -> (o, p, l)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %w : tensor<8x3136x8xf32>, tensor<32x8x8x8xf32>) outs(%e : tensor<32x3136x8xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<32x3136x8xf32>
  func.return %r : tensor<32x3136x8xf32>
}

// -----

// In the level-2 cache: rows are inside of panels.
// CHECK-LABEL: @cached_blocks
// AVX2: #sched.schedule<tile = [2, 5, 0, 1, 1], parallel = [0, 1], vectorize = 2>
func.func private @cached_blocks(%x: tensor<64x49x8xf32>, %w: tensor<256x64x8x8xf32>, %e: tensor<256x49x8xf32>) -> tensor<256x49x8xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(o, p, l, c, i) -> (c, p, i)>, affine_map<(o, p, l, c, i) -> (o, c, i, l)>, affine_map<(o, p, l, c, i) -> (o, p, l)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %w : tensor<64x49x8xf32>, tensor<256x64x8x8xf32>) outs(%e : tensor<256x49x8xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<256x49x8xf32>
  func.return %r : tensor<256x49x8xf32>
}

// -----

// Panels of 20 MiB are in no cache to be read again.
// CHECK-LABEL: @large_panels
// AVX2: #sched.schedule<tile = [2, 6, 0, 1, 1], parallel = [0, 1], vectorize = 2>
func.func private @large_panels(%x: tensor<256x196x8xf32>, %w: tensor<320x256x8x8xf32>, %e: tensor<320x196x8xf32>) -> tensor<320x196x8xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(o, p, l, c, i) -> (c, p, i)>, affine_map<(o, p, l, c, i) -> (o, c, i, l)>, affine_map<(o, p, l, c, i) -> (o, p, l)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %w : tensor<256x196x8xf32>, tensor<320x256x8x8xf32>) outs(%e : tensor<320x196x8xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<320x196x8xf32>
  func.return %r : tensor<320x196x8xf32>
}
