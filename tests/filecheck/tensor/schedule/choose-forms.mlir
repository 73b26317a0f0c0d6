// RUN: stepwell-opt %s -p 'choose-forms{mcpu=x86-64-v3}' | filecheck %s
// RUN: stepwell-opt %s -p 'choose-schedules{mcpu=x86-64-v3}' | filecheck %s
// RUN: stepwell-opt %s -p 'choose-forms{mcpu=x86-64-v3}' --remarks 2>&1 | filecheck %s --check-prefix REMARK
// RUN: stepwell-opt %s -p 'choose-forms{mcpu=sapphirerapids}' | filecheck %s --check-prefix VNNI

// 25 blocks of 40 queries in 7 groups; all scores of a block fit the cache. What is beside the op gets a schedule
// when the loops of the op exist.
// CHECK-LABEL: @few
// CHECK: linalg_ext.attention {{.*}} {sched.schedule = #sched.schedule<form = "softmax", sizes = {queries = 40, groups = 7, lanes = 16, chains = 4}>}
// CHECK: linalg.fill ins
// REMARK: remark: form softmax (queries = 40, groups = 7, lanes = 16, chains = 4, about {{[0-9,]+}} cycles); also legal: online-softmax (queries = 40, groups = 7, lanes = 16, chains = 4, keys = 30, about {{[0-9,]+}} cycles)
func.func private @few(%q: tensor<5x200x8xf32>, %k: tensor<5x30x8xf32>, %v: tensor<5x30x4xf32>, %e: tensor<5x200x4xf32>, %z: tensor<64xf32>) -> (tensor<5x200x4xf32>, tensor<64xf32>) attributes {sched.kernel = #sched.kernel<inputs = 5, outputs = 2>} {
  %y = linalg_ext.attention %q, %k, %v into %e scale 0.5 : (tensor<5x200x8xf32>, tensor<5x30x8xf32>, tensor<5x30x4xf32>, tensor<5x200x4xf32>) -> tensor<5x200x4xf32>
  %c = arith.constant 0.0 : f32
  %f = linalg.fill ins(%c : f32) outs(%z : tensor<64xf32>) -> tensor<64xf32>
  func.return %y, %f : tensor<5x200x4xf32>, tensor<64xf32>
}

// CHECK-LABEL: @many
// CHECK: linalg_ext.attention {{.*}} #sched.schedule<form = "online-softmax", sizes = {queries = 32, groups = 2, lanes = 16, chains = 4, keys = 2048}>
// REMARK: remark: form online-softmax ({{.*}}); also legal: softmax (
func.func private @many(%q: tensor<2x32x8xf32>, %k: tensor<2x2100x8xf32>, %v: tensor<2x2100x4xf32>, %e: tensor<2x32x4xf32>) -> tensor<2x32x4xf32> attributes {sched.kernel = #sched.kernel<inputs = 4, outputs = 1>} {
  %y = linalg_ext.attention %q, %k, %v into %e scale 0.5 : (tensor<2x32x8xf32>, tensor<2x2100x8xf32>, tensor<2x2100x4xf32>, tensor<2x32x4xf32>) -> tensor<2x32x4xf32>
  func.return %y : tensor<2x32x4xf32>
}

// An open number of keys leaves one form, without an estimate.
// CHECK-LABEL: @open
// CHECK: linalg_ext.attention {{.*}} #sched.schedule<form = "online-softmax", sizes = {queries = 32, groups = 2, lanes = 16, chains = 4, keys = 2048}>
// REMARK: remark: form online-softmax (queries = 32, groups = 2, lanes = 16, chains = 4, keys = 2048); no other form is legal
func.func private @open(%q: tensor<2x32x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x?x4xf32>, %e: tensor<2x32x4xf32>) -> tensor<2x32x4xf32> attributes {sched.kernel = #sched.kernel<inputs = 4, outputs = 1>} {
  %y = linalg_ext.attention %q, %k, %v into %e scale 0.5 : (tensor<2x32x8xf32>, tensor<2x?x8xf32>, tensor<2x?x4xf32>, tensor<2x32x4xf32>) -> tensor<2x32x4xf32>
  func.return %y : tensor<2x32x4xf32>
}

// A schedule stays.
// CHECK-LABEL: @given
// CHECK: linalg_ext.attention {{.*}} #sched.schedule<form = "softmax", sizes = {queries = 8}>
// REMARK: remark: form softmax (queries = 8, groups = 2, lanes = 16, chains = 4) of its schedule; also legal: softmax (
func.func private @given(%q: tensor<2x32x8xf32>, %k: tensor<2x30x8xf32>, %v: tensor<2x30x4xf32>, %e: tensor<2x32x4xf32>) -> tensor<2x32x4xf32> attributes {sched.kernel = #sched.kernel<inputs = 4, outputs = 1>} {
  %y = linalg_ext.attention %q, %k, %v into %e scale 0.5 {sched.schedule = #sched.schedule<form = "softmax", sizes = {queries = 8}>} : (tensor<2x32x8xf32>, tensor<2x30x8xf32>, tensor<2x30x4xf32>, tensor<2x32x4xf32>) -> tensor<2x32x4xf32>
  func.return %y : tensor<2x32x4xf32>
}

// Bit vectors, where all comparisons for rows in lanes cost less than walks; walks for trees of more leaves.
// CHECK-LABEL: @trees
// CHECK: sched.schedule = #sched.schedule<form = "bits", sizes = {rows = 32, least = 21, trees = 16}>
// CHECK: sched.schedule = #sched.schedule<form = "walk", sizes = {rows = 16, block = 64, trees = 16}>
// REMARK: remark: form bits ({{.*}} cycles); also legal: walk (rows = 16, block = 64, trees = 16, about {{[0-9,]+}} cycles)
// REMARK: remark: form walk ({{.*}} cycles); no other form is legal
func.func private @trees(%x: tensor<64x20xf32>, %n: tensor<6300x4xi32>, %t: tensor<100x5xi32>, %w: tensor<3200x1xf32>, %c: tensor<3100x2xi32>, %m: tensor<3100xi32>, %e: tensor<64x1xf32>) -> (tensor<64x1xf32>, tensor<64x1xf32>) attributes {sched.kernel = #sched.kernel<inputs = 7, outputs = 2>} {
  %y = linalg_ext.tree_ensemble %x, %n, %t, %w into %e bits %c, %m depth 5 leaves 32 largest 0 aggregate "sum" : (tensor<64x20xf32>, tensor<6300x4xi32>, tensor<100x5xi32>, tensor<3200x1xf32>, tensor<64x1xf32>, tensor<3100x2xi32>, tensor<3100xi32>) -> tensor<64x1xf32>
  %z = linalg_ext.tree_ensemble %x, %n, %t, %w into %e depth 10 leaves 65 largest 0 aggregate "sum" : (tensor<64x20xf32>, tensor<6300x4xi32>, tensor<100x5xi32>, tensor<3200x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  func.return %y, %z : tensor<64x1xf32>, tensor<64x1xf32>
}

// 16 tiles are one block, whose channels threads share.
// CHECK-LABEL: @winograd
// CHECK: linalg_ext.winograd_conv {{.*}} #sched.schedule<form = "channels", sizes = {tiles = 16}>
// REMARK: remark: form channels (tiles = 16, about {{[0-9,]+}} cycles); also legal: blocks (tiles = 16, groups = 1, about
func.func private @winograd(%x: tensor<1x2x14x14x16xf32>, %u: tensor<36x1x32x32xf32>, %e: tensor<1x2x14x14x16xf32>) -> tensor<1x2x14x14x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %y = linalg_ext.winograd_conv %x, %u into %e tile 4 pads [1, 1, 1, 1] : (tensor<1x2x14x14x16xf32>, tensor<36x1x32x32xf32>, tensor<1x2x14x14x16xf32>) -> tensor<1x2x14x14x16xf32>
  func.return %y : tensor<1x2x14x14x16xf32>
}

// CHECK-LABEL: @pool
// CHECK: linalg_ext.pool {{.*}} #sched.schedule<form = "rows", sizes = {lanes = 8, strips = 4, unrolled = 16}>
// REMARK: remark: form rows (lanes = 8, strips = 4, unrolled = 16, about {{[0-9,]+}} cycles); no other form is legal
func.func private @pool(%x: tensor<1x8x5x8xf32>, %e: tensor<1x8x5x8xf32>) -> tensor<1x8x5x8xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %y = linalg_ext.pool %x into %e kind "max" kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : (tensor<1x8x5x8xf32>, tensor<1x8x5x8xf32>) -> tensor<1x8x5x8xf32>
  func.return %y : tensor<1x8x5x8xf32>
}

// CHECK-LABEL: @rnn
// CHECK: linalg_ext.rnn {{.*}} #sched.schedule<form = "whole">
// REMARK: remark: form whole (about {{[0-9,]+}} cycles); also legal: blocks (steps = 6, about {{[0-9,]+}} cycles)
func.func private @rnn(%x: tensor<6x2x8xf32>, %w: tensor<1x4x8xf32>, %r: tensor<1x4x4xf32>, %y0: tensor<6x1x2x4xf32>, %h0: tensor<1x2x4xf32>) -> tensor<6x1x2x4xf32> attributes {sched.kernel = #sched.kernel<inputs = 5, outputs = 1>} {
  %y, %h = linalg_ext.rnn %x, %w, %r into %y0, %h0 : tensor<6x1x2x4xf32>, tensor<1x2x4xf32> cell "rnn" direction "forward" activations ["tanh"] alphas [0.0] betas [0.0] : (tensor<6x2x8xf32>, tensor<1x4x8xf32>, tensor<1x4x4xf32>) -> tensor<6x1x2x4xf32>, tensor<1x2x4xf32>
  func.return %y : tensor<6x1x2x4xf32>
}

// The form with the least work: rows are read as vectors, so fewer of them before columns.
// CHECK-LABEL: @shrinking
// CHECK: linalg_ext.resize {{.*}} #sched.schedule<form = "first-axis-first">
// REMARK: remark: form first-axis-first (about {{[0-9,]+}} cycles); also legal: last-axis-first (about {{[0-9,]+}} cycles)
func.func private @shrinking(%x: tensor<1x40x40xf32>) -> tensor<1x20x20xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %e = tensor.empty() : tensor<1x20x20xf32>
  %y = linalg_ext.resize %x into %e mode "linear" coordinate "half_pixel" nearest "floor" cubic_a 0.0 antialias extrapolation 0.0 : (tensor<1x40x40xf32>, tensor<1x20x20xf32>) -> tensor<1x20x20xf32>
  func.return %y : tensor<1x20x20xf32>
}

// Columns fill half of the registers; a few of very many elements are searched.
// CHECK-LABEL: @ordering
// CHECK: linalg_ext.scan {{.*}} #sched.schedule<form = "columns", sizes = {columns = 64}>
// CHECK: linalg_ext.top_k {{.*}} #sched.schedule<form = "search", sizes = {block = 16}>
// REMARK: remark: form columns (columns = 64, about {{[0-9,]+}} cycles); also legal: layers (about {{[0-9,]+}} cycles)
// REMARK: remark: form search (block = 16, about {{[0-9,]+}} cycles); also legal: rounds (block = 128, about {{[0-9,]+}} cycles)
func.func private @ordering(%x: tensor<2x9000xf32>, %e: tensor<2x9000xf32>, %v0: tensor<2x3xf32>, %i0: tensor<2x3xi64>) -> (tensor<2x9000xf32>, tensor<2x3xf32>) attributes {sched.kernel = #sched.kernel<inputs = 4, outputs = 2>} {
  %y = linalg_ext.scan %x into %e kind "sum" axis 0 exclusive false reverse false : (tensor<2x9000xf32>, tensor<2x9000xf32>) -> tensor<2x9000xf32>
  %v, %i = linalg_ext.top_k %x into %v0, %i0 axis 1 largest true : (tensor<2x9000xf32>, tensor<2x3xf32>, tensor<2x3xi64>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  func.return %y, %v : tensor<2x9000xf32>, tensor<2x3xf32>
}

// Products of bytes in 32 registers: numbers become digits, but for codes of 8 bits. Strips of a panel have two registers.
// CHECK-LABEL: @few_bits
// CHECK: linalg_ext.matmul_nbits {{.*}} #sched.schedule<form = "by-rows", sizes = {chains = 1, depth = 32, groups = 1, columns = 16, few = 4}>
// CHECK: linalg_ext.matmul_nbits {{.*}} #sched.schedule<form = "by-rows",
// CHECK: linalg_ext.matmul_nbits {{.*}} #sched.schedule<form = "floats-or-short-bytes",
// VNNI-LABEL: @few_bits
// VNNI: linalg_ext.matmul_nbits {{.*}} #sched.schedule<form = "digits-or-panels", sizes = {digit_rows = 2, depth = 32, groups = 1, columns = 32}>
// VNNI: linalg_ext.matmul_nbits {{.*}} #sched.schedule<form = "by-rows",
// VNNI: linalg_ext.matmul_nbits {{.*}} #sched.schedule<form = "digits-or-bytes", sizes = {rows = 4, columns = 32, digit_rows = 2}>
func.func private @few_bits(%x: tensor<1x32xf32>, %c: tensor<1x4x64xi32>, %c8: tensor<1x8x64xi32>, %s: tensor<1x1x64xf32>, %t: tensor<1x1xf32>, %q: tensor<1x8xi32>) -> (tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>) attributes {sched.kernel = #sched.kernel<inputs = 6, outputs = 3>} {
  %e = tensor.empty() : tensor<1x64xf32>
  %0 = linalg_ext.matmul_nbits %x, %c, %s into %e bits 4 block 32 : (tensor<1x32xf32>, tensor<1x4x64xi32>, tensor<1x1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
  %1 = linalg_ext.matmul_nbits %x, %c8, %s into %e bits 8 block 32 : (tensor<1x32xf32>, tensor<1x8x64xi32>, tensor<1x1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
  %2 = linalg_ext.matmul_nbits %x, %c, %s into %e x_scales %t : tensor<1x1xf32> row_bytes %q : tensor<1x8xi32> few 4 bits 4 block 32 : (tensor<1x32xf32>, tensor<1x4x64xi32>, tensor<1x1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
  func.return %0, %1, %2 : tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>
}
