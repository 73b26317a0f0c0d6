// RUN: stepwell-opt %s -p 'unroll-vectors{mcpu=x86-64-v4}' --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p 'unroll-vectors{mcpu=x86-64-v4},unroll-vectors{mcpu=x86-64-v4}' --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p 'unroll-vectors{mcpu=x86-64-v3}' --split-input-file | filecheck %s --check-prefix=AVX2

// One accumulator a register; each scalar is read when its turn comes, each vector once; slices become indices.
// CHECK-LABEL: @product
// CHECK: scf.for %[[K:.*]] = %c0 to %c8 step %c1 iter_args(%[[S0:.*]] = %{{.*}}, %[[S1:.*]] = %{{.*}}, %[[S2:.*]] = %{{.*}}, %[[S3:.*]] = %{{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-NEXT: %[[A0:.*]] = tensor.extract %a[%i, %[[K]]]
// CHECK-NEXT: %[[V0:.*]] = vector.broadcast %[[A0]] : f32 to vector<16xf32>
// CHECK-NEXT: %[[B0:.*]] = vector.transfer_read %b[%[[K]], %c0], %{{.*}} {in_bounds = [true]} : tensor<8x32xf32>, vector<16xf32>
// CHECK-NEXT: vector.fma %[[V0]], %[[B0]], %[[S0]]
// CHECK-NEXT: %[[B1:.*]] = vector.transfer_read %b[%[[K]], %c16]
// CHECK-NEXT: vector.fma %[[V0]], %[[B1]], %[[S1]]
// CHECK-NEXT: %[[I:.*]] = arith.addi %i, %c1 : index
// CHECK-NEXT: %[[A1:.*]] = tensor.extract %a[%[[I]], %[[K]]]
// CHECK-NEXT: %[[V1:.*]] = vector.broadcast %[[A1]]
// CHECK-NEXT: vector.fma %[[V1]], %[[B0]], %[[S2]]
// CHECK-NEXT: vector.fma %[[V1]], %[[B1]], %[[S3]]
// CHECK: vector.transfer_write %{{.*}}, %o[%i, %c0] {in_bounds = [true]} : vector<16xf32>, tensor<9x32xf32>
// CHECK: vector.transfer_write %{{.*}}, %{{.*}}[%{{.*}}, %c16]
// CHECK-NOT: insert_slice
// AVX2-LABEL: @product
// AVX2-COUNT-8: vector.fma {{.*}} : vector<8xf32>
// AVX2-NOT: vector.fma
func.func private @product(%a: tensor<9x8xf32>, %b: tensor<8x32xf32>, %o: tensor<9x32xf32>, %i: index) -> tensor<9x32xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %pad = arith.constant 0.0 : f32
  %rows = tensor.extract_slice %a[%i, 0] [2, 8] [1, 1] : tensor<9x8xf32> to tensor<2x8xf32>
  %z = vector.broadcast %pad : f32 to vector<2x32xf32>
  %r = scf.for %k = %c0 to %c8 step %c1 iter_args(%s = %z) -> (vector<2x32xf32>) {
    %at = tensor.extract_slice %rows[0, %k] [2, 1] [1, 1] : tensor<2x8xf32> to tensor<2x1xf32>
    %x = vector.transfer_read %at[%c0, %c0], %pad {permutation_map = affine_map<(d0, d1) -> (d0, 0)>, in_bounds = [true, true]} : tensor<2x1xf32>, vector<2x32xf32>
    %y = vector.transfer_read %b[%k, %c0], %pad {permutation_map = affine_map<(d0, d1) -> (0, d1)>, in_bounds = [true, true]} : tensor<8x32xf32>, vector<2x32xf32>
    %f = vector.fma %x, %y, %s : vector<2x32xf32>
    scf.yield %f : vector<2x32xf32>
  }
  %e = tensor.empty() : tensor<2x32xf32>
  %w = vector.transfer_write %r, %e[%c0, %c0] {in_bounds = [true, true]} : vector<2x32xf32>, tensor<2x32xf32>
  %q = tensor.insert_slice %w into %o[%i, 0] [2, 32] [1, 1] : tensor<2x32xf32> into tensor<9x32xf32>
  func.return %q : tensor<9x32xf32>
}

// -----

// A rest is a narrower vector; a reduction adds registers first, then lanes.
// CHECK-LABEL: @row
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK: %[[S:.*]] = vector.reduction <add>, %[[SUM]] fastmath<reassoc> : vector<16xf32> into f32
// CHECK: %[[T:.*]] = arith.addf %{{.*}}, %[[S]] : f32
// CHECK: %[[U:.*]] = vector.reduction <add>, %{{.*}} fastmath<reassoc> : vector<5xf32> into f32
// CHECK: arith.addf %[[T]], %[[U]] : f32
func.func private @row(%x: tensor<1x37xf32>, %acc: vector<1xf32>, %o: tensor<1xf32>) -> tensor<1xf32> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<1x37xf32>, vector<1x37xf32>
  %s = vector.multi_reduction <add>, %v, %acc [1] : vector<1x37xf32> to vector<1xf32>
  %r = vector.transfer_write %s, %o[%c0] {in_bounds = [true]} : vector<1xf32>, tensor<1xf32>
  func.return %r : tensor<1xf32>
}

// -----

// Elements that lie apart along the lanes are gathered one by one.
// CHECK-LABEL: @strided
// CHECK: tensor.extract %x[%c0]
// CHECK: tensor.extract %x[%c2]
// CHECK: tensor.extract %x[%c4]
// CHECK: vector.insert %{{.*}}, %{{.*}}[2] : f32 into vector<3xf32>
func.func private @strided(%x: tensor<8xf32>, %o: tensor<3xf32>) -> tensor<3xf32> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %t = tensor.extract_slice %x[0] [3] [2] : tensor<8xf32> to tensor<3xf32>
  %v = vector.transfer_read %t[%c0], %pad {in_bounds = [true]} : tensor<3xf32>, vector<3xf32>
  %r = vector.transfer_write %v, %o[%c0] {in_bounds = [true]} : vector<3xf32>, tensor<3xf32>
  func.return %r : tensor<3xf32>
}

// -----

// A tensor that the loop overwrites is read before that, all at once.
// CHECK-LABEL: @in_place
// CHECK: %[[X0:.*]] = vector.transfer_read %o[%c0]
// CHECK-NEXT: %[[X1:.*]] = vector.transfer_read %o[%c16]
// CHECK: vector.transfer_write
// CHECK: vector.transfer_write
func.func private @in_place(%o: tensor<32xf32>) -> tensor<32xf32> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %o[%c0], %pad {in_bounds = [true]} : tensor<32xf32>, vector<32xf32>
  %n = arith.negf %v : vector<32xf32>
  %r = vector.transfer_write %n, %o[%c0] {in_bounds = [true]} : vector<32xf32>, tensor<32xf32>
  func.return %r : tensor<32xf32>
}

// -----

// A block of four columns, read by rows as they lie; the rows are transposed in registers.
// CHECK-LABEL: @turned
// CHECK-DAG: %[[A:.*]] = vector.transfer_read %x[%c0, %c0], {{.*}} : tensor<4x4xf32>, vector<4xf32>
// CHECK-DAG: %[[B:.*]] = vector.transfer_read %x[%c1, %c0]
// CHECK-DAG: %[[C:.*]] = vector.transfer_read %x[%c2, %c0]
// CHECK-DAG: %[[D:.*]] = vector.transfer_read %x[%c3, %c0]
// CHECK-DAG: %[[AC:.*]] = vector.shuffle %[[A]], %[[C]] [0, 4, 1, 5]
// CHECK-DAG: %[[BD:.*]] = vector.shuffle %[[B]], %[[D]] [0, 4, 1, 5]
// CHECK-DAG: %[[FIRST:.*]] = vector.shuffle %[[AC]], %[[BD]] [0, 4, 1, 5]
// CHECK: vector.transfer_write %[[FIRST]], %o[%c0, %c0]
// CHECK-NOT: tensor.extract
func.func private @turned(%x: tensor<4x4xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true], permutation_map = affine_map<(i, j) -> (j, i)>} : tensor<4x4xf32>, vector<4x4xf32>
  %r = vector.transfer_write %v, %o[%c0, %c0] {in_bounds = [true, true]} : vector<4x4xf32>, tensor<4x8xf32>
  func.return %r : tensor<4x8xf32>
}

// -----

// Every second one of seven: two vectors, neither beyond the last element, and one shuffle.
// CHECK-LABEL: @every_second
// CHECK: %[[A:.*]] = vector.transfer_read %x[%c0]
// CHECK: %[[B:.*]] = vector.transfer_read %x[%c3]
// CHECK: vector.shuffle %{{.*}}, %[[B]] [0, 1, 5, 7]
// CHECK-NOT: tensor.extract
func.func private @every_second(%x: tensor<7xf32>, %o: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %t = tensor.extract_slice %x[0] [4] [2] : tensor<7xf32> to tensor<4xf32>
  %v = vector.transfer_read %t[%c0], %pad {in_bounds = [true]} : tensor<4xf32>, vector<4xf32>
  %r = vector.transfer_write %v, %o[%c0] {in_bounds = [true]} : vector<4xf32>, tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// NaN is passed over before lanes are combined: what is left are numbers.
// CHECK-LABEL: @greatest_number
// CHECK: %[[LOWEST:.*]] = vector.broadcast %{{.*}} : f32 to vector<16xf32>
// CHECK-NEXT: %[[FIRST:.*]] = arith.maxnumf %[[LOWEST]], %{{.*}} : vector<16xf32>
// CHECK: %[[BOTH:.*]] = arith.maxnumf %[[FIRST]], %{{.*}} : vector<16xf32>
// CHECK: vector.reduction <maximumf>, %[[BOTH]] fastmath<reassoc,nnan> : vector<16xf32> into f32
// CHECK: arith.maxnumf %{{.*}}, %{{.*}} : f32
func.func private @greatest_number(%x: tensor<1x32xf32>, %acc: vector<1xf32>, %o: tensor<1xf32>) -> tensor<1xf32> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<1x32xf32>, vector<1x32xf32>
  %s = vector.multi_reduction <maxnumf>, %v, %acc [1] : vector<1x32xf32> to vector<1xf32>
  %r = vector.transfer_write %s, %o[%c0] {in_bounds = [true]} : vector<1xf32>, tensor<1xf32>
  func.return %r : tensor<1xf32>
}

// -----

// NaN wins: it is looked for beside the numbers, in two vectors at once. A rest of five lanes is left as it is.
// CHECK-LABEL: @greatest_or_nan
// CHECK: %[[ABOVE:.*]] = arith.cmpf ogt, %[[A:.*]], %[[B:.*]] : vector<16xf32>
// CHECK-NEXT: %[[TOP:.*]] = arith.select %[[ABOVE]], %[[A]], %[[B]]
// CHECK-NEXT: %[[BEST:.*]] = vector.reduction <maximumf>, %[[TOP]] fastmath<reassoc,nnan> : vector<16xf32> into f32
// CHECK-NEXT: %[[UNORDERED:.*]] = arith.cmpf uno, %[[A]], %[[B]] : vector<16xf32>
// CHECK-NEXT: %[[IS_NAN:.*]] = vector.reduction <or>, %[[UNORDERED]] : vector<16xi1> into i1
// CHECK-NEXT: %[[FOUND:.*]] = arith.select %[[IS_NAN]], %{{.*}}, %[[BEST]] : f32
// CHECK-NEXT: %[[START:.*]] = arith.maximumf %{{.*}}, %[[FOUND]] : f32
// CHECK-NEXT: %[[REST:.*]] = vector.reduction <maximumf>, %{{.*}} fastmath<reassoc> : vector<5xf32> into f32
// CHECK-NEXT: arith.maximumf %[[START]], %[[REST]] : f32
func.func private @greatest_or_nan(%x: tensor<1x37xf32>, %acc: vector<1xf32>, %o: tensor<1xf32>) -> tensor<1xf32> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<1x37xf32>, vector<1x37xf32>
  %s = vector.multi_reduction <maximumf>, %v, %acc [1] : vector<1x37xf32> to vector<1xf32>
  %r = vector.transfer_write %s, %o[%c0] {in_bounds = [true]} : vector<1xf32>, tensor<1xf32>
  func.return %r : tensor<1xf32>
}

// -----

// Rows of two share a register: each element is read once and stands twice, eight rows are written as one.
// CHECK-LABEL: @repeated
// CHECK: %[[A:.*]] = vector.transfer_read %x[%c0], %{{.*}} : tensor<12xf32>, vector<8xf32>
// CHECK: vector.shuffle %[[A]], %[[A]] [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]
// CHECK: vector.transfer_read %x[%c8], %{{.*}} : tensor<12xf32>, vector<4xf32>
// CHECK: %[[ROWS:.*]] = tensor.collapse_shape %o {{\[\[}}0 : i64, 1 : i64]] : tensor<12x2xf32> into tensor<24xf32>
// CHECK: vector.transfer_write %{{.*}}, %[[ROWS]][%c0] {{.*}} : vector<16xf32>
// CHECK: vector.transfer_write %{{.*}}, %{{.*}}[%c16] {{.*}} : vector<8xf32>
func.func private @repeated(%x: tensor<12xf32>, %o: tensor<12x2xf32>) -> tensor<12x2xf32> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0], %pad {in_bounds = [true, true], permutation_map = affine_map<(i) -> (i, 0)>} : tensor<12xf32>, vector<12x2xf32>
  %r = vector.transfer_write %v, %o[%c0, %c0] {in_bounds = [true, true]} : vector<12x2xf32>, tensor<12x2xf32>
  func.return %r : tensor<12x2xf32>
}

// -----

// Rows alternate along the lanes, those of another operand lie as they are written; both are added as one.
// CHECK-LABEL: @alternating
// CHECK-DAG: %[[A:.*]] = vector.transfer_read %x[%c0, %c0], %{{.*}} : tensor<2x8xf32>, vector<8xf32>
// CHECK-DAG: %[[B:.*]] = vector.transfer_read %x[%c1, %c0], %{{.*}} : tensor<2x8xf32>, vector<8xf32>
// CHECK-DAG: %[[X:.*]] = vector.shuffle %[[A]], %[[B]] [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15]
// CHECK-DAG: %[[Y:.*]] = vector.transfer_read %{{.*}} : tensor<16xf32>, vector<16xf32>
// CHECK: arith.addf %[[X]], %[[Y]] : vector<16xf32>
// CHECK: vector.transfer_write %{{.*}} : vector<16xf32>, tensor<16xf32>
func.func private @alternating(%x: tensor<2x8xf32>, %y: tensor<8x2xf32>, %o: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true], permutation_map = affine_map<(i, j) -> (j, i)>} : tensor<2x8xf32>, vector<8x2xf32>
  %w = vector.transfer_read %y[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<8x2xf32>, vector<8x2xf32>
  %s = arith.addf %v, %w : vector<8x2xf32>
  %r = vector.transfer_write %s, %o[%c0, %c0] {in_bounds = [true, true]} : vector<8x2xf32>, tensor<8x2xf32>
  func.return %r : tensor<8x2xf32>
}

// -----

// Rows that are part of longer ones are not neighbours: each is a vector of its own.
// CHECK-LABEL: @in_longer_rows
// CHECK-NOT: tensor.collapse_shape
// CHECK: vector.transfer_write %{{.*}} : vector<2xf32>, tensor<8x3xf32>
func.func private @in_longer_rows(%x: tensor<8xf32>, %o: tensor<8x3xf32>) -> tensor<8x3xf32> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0], %pad {in_bounds = [true, true], permutation_map = affine_map<(i) -> (i, 0)>} : tensor<8xf32>, vector<8x2xf32>
  %r = vector.transfer_write %v, %o[%c0, %c0] {in_bounds = [true, true]} : vector<8x2xf32>, tensor<8x3xf32>
  func.return %r : tensor<8x3xf32>
}

// -----

// What the loop makes becomes a part of longer rows, and lies there from the start.
// CHECK-LABEL: @part_of_longer_rows
// CHECK-NOT: tensor.collapse_shape
// CHECK: vector.transfer_write %{{.*}} : vector<2xf32>, tensor<16x2xf32>
func.func private @part_of_longer_rows(%x: tensor<8xf32>, %o: tensor<16x3xf32>, %e: tensor<16x2xf32>) -> tensor<16x3xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0], %pad {in_bounds = [true, true], permutation_map = affine_map<(i) -> (i, 0)>} : tensor<8xf32>, vector<8x2xf32>
  %r = scf.for %i = %c0 to %c16 step %c8 iter_args(%into = %e) -> (tensor<16x2xf32>) {
    %w = vector.transfer_write %v, %into[%i, %c0] {in_bounds = [true, true]} : vector<8x2xf32>, tensor<16x2xf32>
    scf.yield %w : tensor<16x2xf32>
  }
  %y = tensor.insert_slice %r into %o[0, 1] [16, 2] [1, 1] : tensor<16x2xf32> into tensor<16x3xf32>
  func.return %y : tensor<16x3xf32>
}

// -----

// A row that ends inside a vector is read and written as far as it goes; shuffles take lanes of several pieces.
// CHECK-LABEL: @shifted
// CHECK: %[[X:.*]] = vector.transfer_read %x[%c0], %pad : tensor<13xf32>, vector<16xf32>
// CHECK: %[[Y:.*]] = vector.shuffle %[[X]], %{{.*}} [16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]
// CHECK: vector.transfer_write %[[Y]], %y[%c0] : vector<16xf32>, tensor<13xf32>
// AVX2-LABEL: @shifted
// AVX2: %[[A:.*]] = vector.transfer_read %x[%c0], %pad : tensor<13xf32>, vector<8xf32>
// AVX2: %[[B:.*]] = vector.transfer_read %x[%c8], %pad : tensor<13xf32>, vector<8xf32>
// AVX2: vector.shuffle %[[A]], %{{.*}} [8, 0, 1, 2, 3, 4, 5, 6]
// AVX2: vector.shuffle %[[A]], %[[B]] [7, 8, 9, 10, 11, 12, 13, 14]
// AVX2: vector.transfer_write %{{.*}}, %y[%c0] : vector<8xf32>, tensor<13xf32>
// AVX2: vector.transfer_write %{{.*}}[%c8] : vector<8xf32>, tensor<13xf32>
func.func private @shifted(%x: tensor<13xf32>, %y: tensor<13xf32>) -> tensor<13xf32> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %fill = arith.constant dense<0.0> : vector<16xf32>
  %0 = vector.transfer_read %x[%c0], %pad : tensor<13xf32>, vector<16xf32>
  %1 = vector.shuffle %0, %fill [16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14] : vector<16xf32>, vector<16xf32>
  %2 = vector.transfer_write %1, %y[%c0] : vector<16xf32>, tensor<13xf32>
  func.return %2 : tensor<13xf32>
}

// -----

// A lane is one of the piece that has it.
// CHECK-LABEL: @lanes
// CHECK: vector.extract %{{.*}}[11] : f32 from vector<16xf32>
// CHECK: vector.insert %{{.*}}, %{{.*}} [4] : f32 into vector<16xf32>
// AVX2-LABEL: @lanes
// AVX2: %[[SECOND:.*]] = vector.transfer_read %x[%c1, %c8], %pad {in_bounds = [true]} : tensor<2x32xf32>, vector<8xf32>
// AVX2: vector.extract %[[SECOND]][3] : f32 from vector<8xf32>
// AVX2: vector.insert %{{.*}}, %{{.*}} [4] : f32 into vector<8xf32>
func.func private @lanes(%x: tensor<2x32xf32>, %y: tensor<2x32xf32>) -> tensor<2x32xf32> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %0 = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<2x32xf32>, vector<2x32xf32>
  %1 = vector.extract %0[1, 11] : f32 from vector<2x32xf32>
  %2 = vector.insert %1, %0 [0, 20] : f32 into vector<2x32xf32>
  %3 = vector.transfer_write %2, %y[%c0, %c0] {in_bounds = [true, true]} : vector<2x32xf32>, tensor<2x32xf32>
  func.return %3 : tensor<2x32xf32>
}

// -----

// Rows of so few elements are read as they lie, and the lanes of each column picked from them.
// CHECK-LABEL: @alternating
// CHECK: %[[ROWS:.*]] = tensor.collapse_shape %x {{\[\[}}0 : i64, 1 : i64]] : tensor<64x2xf32> into tensor<128xf32>
// CHECK: %[[A:.*]] = vector.transfer_read %[[ROWS]][%{{.*}}], %{{.*}} {in_bounds = [true]} : tensor<128xf32>, vector<16xf32>
// CHECK: %[[B:.*]] = vector.transfer_read %[[ROWS]][%{{.*}}], %{{.*}} {in_bounds = [true]} : tensor<128xf32>, vector<16xf32>
// CHECK: vector.shuffle %[[A]], %[[B]] [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]
// CHECK: vector.shuffle %[[A]], %[[B]] [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31]
// CHECK-NOT: vector.shuffle
// AVX2-LABEL: @alternating
// AVX2-COUNT-4: vector.shuffle {{.*}} : vector<8xf32>, vector<8xf32>
func.func private @alternating(%x: tensor<64x2xf32>, %i: index, %y: tensor<2x64xf32>) -> tensor<2x64xf32> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true], permutation_map = affine_map<(p, c) -> (c, p)>} : tensor<64x2xf32>, vector<2x16xf32>
  %1 = vector.transfer_write %0, %y[%c0, %i] {in_bounds = [true, true]} : vector<2x16xf32>, tensor<2x64xf32>
  func.return %1 : tensor<2x64xf32>
}
