// RUN: stepwell-opt %s -p expand-forms | filecheck %s

// One row: its numbers are scaled, then each panel of four columns sums in registers; an element has four codes of 8 bits.
// CHECK-LABEL: @one_row
// CHECK-DAG: %[[FACTORS:.*]] = arith.constant dense<[1.000000e+00, 3.906250e-03, 1.52587891e-05, 1.000000e+00,
// CHECK-DAG: %[[MASK:.*]] = arith.constant dense<65280> : vector<4xi32>
// CHECK-DAG: %[[TOP:.*]] = arith.constant dense<24> : vector<4xi32>
// CHECK-DAG: %[[ORIGIN:.*]] = arith.constant -1.280000e+02 : f32
// CHECK: %[[X:.*]] = vector.transfer_read %x
// CHECK: arith.mulf %[[X]], %[[FACTORS]]
// CHECK: %[[ALL:.*]] = vector.multi_reduction <add>
// CHECK: arith.mulf %[[ALL]], %[[ORIGIN]] : f32
// CHECK: scf.for %[[PANEL:.*]] = %c0 to %c2 step %c1
// CHECK: scf.for %[[BLOCK:.*]] = %c0 to %c2
// CHECK: scf.for
// CHECK: %[[CODES:.*]] = vector.transfer_read %c[%[[PANEL]],
// CHECK: %[[CODE:.*]] = arith.andi %[[CODES]], %[[MASK]] : vector<4xi32>
// CHECK: arith.sitofp %[[CODE]] : vector<4xi32> to vector<4xf32>
// CHECK: vector.fma
// CHECK: arith.shrui %[[CODES]], %[[TOP]]
// CHECK: %[[S:.*]] = vector.transfer_read %s[%[[PANEL]], %[[BLOCK]],
// CHECK: vector.fma %{{.*}}, %[[S]]
// CHECK: } {sched.parallel}
// The last panel has two columns.
// CHECK: vector.transfer_write %{{.*}}, %{{.*}}[%c0, %c8] : vector<4xf32>, tensor<1x10xf32>
func.func private @one_row(%x: tensor<1x32xf32>, %c: tensor<3x8x4xi32>, %s: tensor<3x2x4xf32>) -> tensor<1x10xf32> {
  %e = tensor.empty() : tensor<1x10xf32>
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e bits 8 block 16 {sched.schedule = #sched.schedule<form = "registers">} : (tensor<1x32xf32>, tensor<3x8x4xi32>, tensor<3x2x4xf32>, tensor<1x10xf32>) -> tensor<1x10xf32>
  func.return %y : tensor<1x10xf32>
}

// Rows are open: both bodies. Zero points meet the sum of a block there, and each weight in memory here.
// CHECK-LABEL: @open
// CHECK: %[[FEW:.*]] = arith.cmpi sle, %M, %c4 : index
// CHECK: %[[SEEN:.*]] = arith.select %[[FEW]], %M, %c0 : index
// CHECK: %[[ZEROS:.*]] = scf.for %{{.*}} = %c0 to %[[SEEN]]
// CHECK: %[[ALL:.*]] = vector.multi_reduction <add>, %[[ZEROS]]
// CHECK: %[[FINITE:.*]] = arith.cmpf oeq, %[[ALL]]
// CHECK: %[[BOTH:.*]] = arith.andi %[[FEW]], %[[FINITE]] : i1
// CHECK: scf.if %[[BOTH]] -> (tensor<?x8xf32>) {
// CHECK: %[[Z:.*]] = vector.transfer_read %z
// CHECK: arith.uitofp %[[Z]] : vector<4xi8> to vector<4xf32>
// CHECK: } else {
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c1
// CHECK: arith.subf %{{.*}} : vector<4xf32>
// CHECK: vector.transfer_write {{.*}} tensor<32x4xf32>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x32xf32>, tensor<32x4xf32>)
func.func private @open(%x: tensor<?x32xf32> {graph.dims = #graph.dims<["M", 32]>}, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>, %z: tensor<2x2x4xi8>, %M: index) -> tensor<?x8xf32> attributes {sched.kernel = #sched.kernel<inputs = 4, outputs = 1, symbols = ["M"]>} {
  %e = tensor.empty(%M) : tensor<?x8xf32>
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e zero_points %z : tensor<2x2x4xi8> bits 4 block 16 : (tensor<?x32xf32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  func.return %y : tensor<?x8xf32>
}

// Sizes of a schedule: weights of a block at a time, in one group of panels.
// CHECK-LABEL: @edited
// CHECK: scf.for %{{.*}} = %c0 to %c1 step %c1
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<5x16xf32>, tensor<16x4xf32>)
func.func private @edited(%x: tensor<5x32xf32>, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>) -> tensor<5x8xf32> {
  %e = tensor.empty() : tensor<5x8xf32>
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e bits 4 block 16 {sched.schedule = #sched.schedule<form = "panels", sizes = {depth = 16, groups = 1}>} : (tensor<5x32xf32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  func.return %y : tensor<5x8xf32>
}

// Rows of bytes: two share unpacked codes, the third is on its own; two sums of two products are added in 16 bits.
// CHECK-LABEL: @bytes
// CHECK-DAG: %[[LOW:.*]] = arith.constant dense<252645135> : vector<4xi32>
// CHECK-DAG: %[[ONES:.*]] = arith.constant dense<65537> : vector<4xi32>
// CHECK: arith.dot_bytes
// CHECK: scf.for %[[PANEL:.*]] = %c0 to %c1 step %c1
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c2
// CHECK: %[[CODES:.*]] = vector.transfer_read %c[%[[PANEL]],
// CHECK: %[[A:.*]] = arith.andi %[[CODES]], %[[LOW]]
// CHECK: %[[S0:.*]] = arith.dot_pairs %[[A]],
// CHECK: %[[S1:.*]] = arith.dot_pairs %[[A]],
// CHECK: %[[H:.*]] = arith.shrui %[[CODES]],
// CHECK: %[[B:.*]] = arith.andi %[[H]], %[[LOW]]
// CHECK: %[[T0:.*]] = arith.dot_pairs %[[B]], %{{.*}}, %[[S0]]
// CHECK: %[[T1:.*]] = arith.dot_pairs %[[B]], %{{.*}}, %[[S1]]
// CHECK: arith.dot_shorts %[[T0]], %[[ONES]],
// CHECK: arith.dot_shorts %[[T1]], %[[ONES]],
// CHECK: scf.for %{{.*}} = %c2 to %c3 step %c1
func.func private @bytes(%x: tensor<3x8xi32>, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>, %t: tensor<3x2xf32>) -> tensor<3x8xf32> {
  %e = tensor.empty() : tensor<3x8xf32>
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e x_scales %t : tensor<3x2xf32> bits 4 block 16 {sched.schedule = #sched.schedule<form = "short-bytes", sizes = {rows = 2, pairs = 2}>} : (tensor<3x8xi32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  func.return %y : tensor<3x8xf32>
}

// A product of the steps left over adds to the result of a loop, not to that of another product.
// CHECK-LABEL: @steps_left_over
// CHECK: %[[SUMS:.*]] = scf.for %{{.*}} = %c0 to %c1 step %c1 {{.*}} -> (tensor<5x4xf32>)
// CHECK: linalg.generic {{.*}} tensor<5x32xf32>, tensor<32x4xf32>)
// CHECK: linalg.generic {{.*}} tensor<5x16xf32>, tensor<16x4xf32>) outs(%[[SUMS]] :
func.func private @steps_left_over(%x: tensor<5x48xf32>, %c: tensor<2x6x4xi32>, %s: tensor<2x3x4xf32>) -> tensor<5x8xf32> {
  %e = tensor.empty() : tensor<5x8xf32>
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e bits 4 block 16 {sched.schedule = #sched.schedule<form = "panels", sizes = {depth = 32, groups = 1}>} : (tensor<5x48xf32>, tensor<2x6x4xi32>, tensor<2x3x4xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  func.return %y : tensor<5x8xf32>
}

// A panel of six columns is three strips of two: weights of a strip are in memory one after the other.
// CHECK-LABEL: @strips
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c1
// CHECK: scf.for %[[STRIP:[0-9]*]] = %
// CHECK: %[[PANEL:.*]] = arith.divui %[[STRIP]], %c3 : index
// CHECK: %[[PART:.*]] = arith.remui %[[STRIP]], %c3 : index
// CHECK: %[[FIRST:.*]] = arith.muli %[[PART]], %c2 : index
// CHECK: tensor.extract_slice {{.*}} : tensor<5x11xf32> to tensor<5x2xf32>
// CHECK: vector.transfer_read %s[%[[PANEL]], %{{.*}}, %[[FIRST]]], {{.*}} vector<2xf32>
// CHECK: vector.transfer_read %c[%[[PANEL]], %{{.*}}, %[[FIRST]]], {{.*}} vector<2xi32>
// CHECK: vector.transfer_write {{.*}} tensor<32x2xf32>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<5x32xf32>, tensor<32x2xf32>)
// The eleventh column is alone.
// CHECK: tensor.extract_slice {{.*}} : tensor<5x11xf32> to tensor<5x1xf32>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<5x32xf32>, tensor<32x1xf32>)
func.func private @strips(%x: tensor<5x32xf32>, %c: tensor<2x4x6xi32>, %s: tensor<2x2x6xf32>) -> tensor<5x11xf32> {
  %e = tensor.empty() : tensor<5x11xf32>
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e bits 4 block 16 {sched.schedule = #sched.schedule<form = "panels">} : (tensor<5x32xf32>, tensor<2x4x6xi32>, tensor<2x2x6xf32>, tensor<5x11xf32>) -> tensor<5x11xf32>
  func.return %y : tensor<5x11xf32>
}

// Rows as digits: the exponent of a part, its integers of 24 bits, their bytes, and the sum times the middle code; two
// rows share unpacked codes. The first digit has a sign, as the codes have not; the others are the other way round.
// CHECK-LABEL: @digits(
// CHECK-DAG: %[[EXPONENT:.*]] = arith.constant dense<2139095040> : vector<16xi32>
// CHECK-DAG: %[[LEAST:.*]] = arith.constant 192937984 : i32
// CHECK-DAG: %[[ROOM:.*]] = arith.constant 184549376 : i32
// CHECK-DAG: %[[TWICE:.*]] = arith.constant 2130706432 : i32
// CHECK-DAG: %[[GREATEST:.*]] = arith.constant dense<0x4AFFFFFE> : vector<16xf32>
// CHECK-DAG: %[[MINUS_MIDDLE:.*]] = arith.constant -8 : i32
// CHECK-DAG: %[[EIGHT:.*]] = arith.constant dense<8> : vector<4xi32>
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c3
// CHECK: scf.for %[[PART:.*]] = %c0 to %c2
// CHECK: %[[X:.*]] = vector.transfer_read %x[
// CHECK: %[[BITS:.*]] = arith.bitcast %[[X]] : vector<16xf32> to vector<16xi32>
// CHECK: %[[E:.*]] = arith.andi %[[BITS]], %[[EXPONENT]]
// CHECK: %[[MOST:.*]] = vector.multi_reduction <maxsi>, %[[E]], %[[LEAST]] [0]
// CHECK: %[[UNIT:.*]] = arith.subi %[[MOST]], %[[ROOM]] : i32
// CHECK: arith.subi %[[TWICE]], %[[UNIT]] : i32
// CHECK: arith.minnumf %{{.*}}, %[[GREATEST]]
// CHECK: arith.maxnumf
// CHECK: math.roundeven
// CHECK: %[[N:.*]] = arith.fptosi
// CHECK: arith.shrui %[[N]], %{{.*}} : vector<16xi32>
// CHECK: vector.bitcast %{{.*}} : vector<16xi8> to vector<4xi32>
// CHECK: arith.muli %{{.*}}, %[[MINUS_MIDDLE]] : i32
// CHECK: scf.for %[[PANEL:.*]] = %c0 to %c1 step %c1
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c2
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c1 iter_args
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c1 iter_args
// CHECK: %[[CODES:.*]] = vector.transfer_read %c[%[[PANEL]],
// CHECK: %[[A:.*]] = arith.andi %[[CODES]]
// CHECK: arith.dot_bytes %[[A]], %{{.*}} : vector<4xi32>
// CHECK: arith.dot_bytes %{{.*}}, %[[A]], %
// CHECK: arith.dot_bytes %{{.*}}, %[[A]], %
// CHECK: arith.shli %{{.*}}, %[[EIGHT]]
// CHECK: arith.shli %{{.*}}, %[[EIGHT]]
// CHECK: %[[SUM:.*]] = arith.sitofp
// CHECK: %[[SCALED:.*]] = arith.mulf %[[SUM]], %{{.*}} : vector<4xf32>
// CHECK: %[[S:.*]] = vector.transfer_read %s[%[[PANEL]],
// CHECK: vector.fma %[[SCALED]], %[[S]]
// CHECK: scf.for %{{.*}} = %c2 to %c3 step %c1
func.func private @digits(%x: tensor<3x32xf32>, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>) -> tensor<3x8xf32> {
  %e = tensor.empty() : tensor<3x8xf32>
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e bits 4 block 16 {sched.schedule = #sched.schedule<form = "digits">} : (tensor<3x32xf32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  func.return %y : tensor<3x8xf32>
}

// A block of two parts: their sums meet one scale. Zero points meet the sum of a part, as floats around the middle.
// CHECK-LABEL: @parts
// CHECK: scf.for %{{.*}} = %c0 to %c2
// CHECK: arith.subf %{{.*}} : vector<4xf32>
// CHECK: scf.for %{{.*}} = %c0 to %c2
// CHECK: %[[SCALED:.*]] = arith.mulf
// CHECK: %[[WITH_POINTS:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[SCALED]]
// CHECK: arith.addf %{{.*}}, %[[WITH_POINTS]]
// CHECK: }
// CHECK: vector.transfer_read %s[
func.func private @parts(%x: tensor<1x64xf32>, %c: tensor<2x8x4xi32>, %s: tensor<2x1x4xf32>, %z: tensor<2x1x4xi8>) -> tensor<1x8xf32> {
  %e = tensor.empty() : tensor<1x8xf32>
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e zero_points %z : tensor<2x1x4xi8> bits 4 block 64 {sched.schedule = #sched.schedule<form = "digits">} : (tensor<1x64xf32>, tensor<2x8x4xi32>, tensor<2x1x4xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  func.return %y : tensor<1x8xf32>
}

// Finite rows are digits, others floats.
// CHECK-LABEL: @digits_or_panels
// CHECK: %[[FINITE:.*]] = arith.cmpf oeq
// CHECK: scf.if %[[FINITE]] -> (tensor<5x8xf32>) {
// CHECK: arith.dot_bytes
// CHECK-NOT: linalg.generic
// CHECK: } else {
// CHECK: linalg.generic
func.func private @digits_or_panels(%x: tensor<5x32xf32>, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>) -> tensor<5x8xf32> {
  %e = tensor.empty() : tensor<5x8xf32>
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e bits 4 block 16 {sched.schedule = #sched.schedule<form = "digits-or-panels">} : (tensor<5x32xf32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  func.return %y : tensor<5x8xf32>
}

// Rows in floats and in bytes: at most four rows are floats.
// CHECK-LABEL: @both
// CHECK: %[[FEW:.*]] = arith.cmpi sle, %M, %c4 : index
// CHECK: scf.if %[[FEW]] -> (tensor<?x8xf32>) {
// CHECK: vector.transfer_read %x[
// CHECK: arith.sitofp
// CHECK-NOT: arith.dot_bytes
// CHECK: } else {
// CHECK: vector.transfer_read %q[
// CHECK: arith.dot_bytes
// CHECK-NOT: linalg.generic
func.func private @both(%x: tensor<?x32xf32> {graph.dims = #graph.dims<["M", 32]>}, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>, %t: tensor<?x2xf32> {graph.dims = #graph.dims<["M", 2]>}, %q: tensor<?x8xi32> {graph.dims = #graph.dims<["M", 8]>}, %M: index) -> tensor<?x8xf32> attributes {sched.kernel = #sched.kernel<inputs = 5, outputs = 1, symbols = ["M"]>} {
  %e = tensor.empty(%M) : tensor<?x8xf32>
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e x_scales %t : tensor<?x2xf32> row_bytes %q : tensor<?x8xi32> few 4 bits 4 block 16 : (tensor<?x32xf32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  func.return %y : tensor<?x8xf32>
}

// CHECK-LABEL: @few_digits_or_bytes
// CHECK: scf.if %{{.*}} -> (tensor<?x8xf32>) {
// CHECK: vector.transfer_read %x[
// CHECK: arith.fptosi
// CHECK: arith.dot_bytes
// CHECK: } else {
// CHECK: vector.transfer_read %q[
// CHECK: arith.dot_bytes
func.func private @few_digits_or_bytes(%x: tensor<?x32xf32> {graph.dims = #graph.dims<["M", 32]>}, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>, %t: tensor<?x2xf32> {graph.dims = #graph.dims<["M", 2]>}, %q: tensor<?x8xi32> {graph.dims = #graph.dims<["M", 8]>}, %M: index) -> tensor<?x8xf32> attributes {sched.kernel = #sched.kernel<inputs = 5, outputs = 1, symbols = ["M"]>} {
  %e = tensor.empty(%M) : tensor<?x8xf32>
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e x_scales %t : tensor<?x2xf32> row_bytes %q : tensor<?x8xi32> few 4 bits 4 block 16 {sched.schedule = #sched.schedule<form = "digits-or-bytes">} : (tensor<?x32xf32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  func.return %y : tensor<?x8xf32>
}
