// RUN: stepwell-opt %s -p vectorize --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p vectorize,vectorize --split-input-file | filecheck %s

// One step of a product: what a map leaves out is a broadcast, the product goes into an fma.
// CHECK-LABEL: @product
// CHECK: %[[ACC:.*]] = vector.transfer_read %acc[%c0, %c0], %{{.*}} {in_bounds = [true, true]} : tensor<4x32xf32>, vector<4x32xf32>
// CHECK-NEXT: %[[A:.*]] = vector.transfer_read %a[%c0, %c0], %{{.*}} {permutation_map = affine_map<(d0, d1) -> (d0, 0)>, in_bounds = [true, true]} : tensor<4x1xf32>, vector<4x32xf32>
// CHECK-NEXT: %[[B:.*]] = vector.transfer_read %b[%c0, %c0], %{{.*}} {permutation_map = affine_map<(d0, d1) -> (0, d1)>, in_bounds = [true, true]} : tensor<1x32xf32>, vector<4x32xf32>
// CHECK-NEXT: %[[R:.*]] = vector.fma %[[A]], %[[B]], %[[ACC]] : vector<4x32xf32>
// CHECK-NEXT: vector.transfer_write %[[R]], %acc[%c0, %c0]
func.func private @product(%a: tensor<4x1xf32>, %b: tensor<1x32xf32>, %acc: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x1xf32>, tensor<1x32xf32>) outs(%acc : tensor<4x32xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 0, 0], vectorize = 1>} {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %m = arith.mulf %x, %y : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x32xf32>
  func.return %r : tensor<4x32xf32>
}

// -----

// The steps of a reduction are unrolled; a stride is a slice.
// CHECK-LABEL: @window
// CHECK: tensor.extract_slice %x[0, 0] [4, 16] [2, 1] : tensor<9x16xf32> to tensor<4x16xf32>
// CHECK: arith.addf
// CHECK: tensor.extract_slice %x[1, 0] [4, 16] [2, 1]
// CHECK: arith.addf
// CHECK: tensor.extract_slice %x[2, 0] [4, 16] [2, 1]
// CHECK: arith.addf
// CHECK-NOT: tensor.extract_slice
func.func private @window(%x: tensor<9x16xf32>, %k: tensor<3xf32>, %acc: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(o, c, k) -> (o * 2 + k, c)>, affine_map<(o, c, k) -> (k)>, affine_map<(o, c, k) -> (o, c)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %k : tensor<9x16xf32>, tensor<3xf32>) outs(%acc : tensor<4x16xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 0, 0], vectorize = 1>} {
  ^bb0(%a: f32, %unused: f32, %s: f32):
    %t = arith.addf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<4x16xf32>
  func.return %r : tensor<4x16xf32>
}

// -----

// A row's maximum stays a vector for the op that subtracts it: no tensor between them.
// CHECK-LABEL: @centered
// CHECK: %[[X:.*]] = vector.transfer_read %x
// CHECK: %[[M:.*]] = vector.multi_reduction <maximumf>, %[[X]], %{{.*}} [1] : vector<2x16xf32> to vector<2xf32>
// CHECK-NOT: vector.transfer_write %[[M]]
// CHECK: %[[C:.*]] = vector.shape_cast %[[M]] : vector<2xf32> to vector<2x1xf32>
// CHECK-NEXT: %[[B:.*]] = vector.broadcast %[[C]] : vector<2x1xf32> to vector<2x16xf32>
// CHECK-NEXT: arith.subf %{{.*}}, %[[B]]
func.func private @centered(%x: tensor<2x16xf32>, %low: tensor<2xf32>, %e: tensor<2x16xf32>) -> tensor<2x16xf32> {
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x16xf32>) outs(%low : tensor<2xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 0], vectorize = 1>} {
  ^bb0(%a: f32, %s: f32):
    %t = arith.maximumf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<2xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<2x16xf32>, tensor<2xf32>) outs(%e : tensor<2x16xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 0], vectorize = 1>} {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %t = arith.subf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<2x16xf32>
  func.return %r : tensor<2x16xf32>
}

// -----

// Comparisons, selections, casts and positions have vector forms.
// CHECK-LABEL: @steps
// CHECK: arith.constant dense<[0, 1, 2, 3]> : vector<4xindex>
// CHECK: arith.index_cast %{{.*}} : vector<4xindex> to vector<4xi32>
// CHECK: arith.sitofp %{{.*}} : vector<4xi32> to vector<4xf32>
// CHECK: arith.cmpf ogt, %{{.*}}, %{{.*}} : vector<4xf32>
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<4xi1>, vector<4xf32>
func.func private @steps(%x: tensor<4xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i32
    %f = arith.sitofp %n : i32 to f32
    %g = arith.cmpf ogt, %a, %f : f32
    %s = arith.select %g, %a, %f : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// What vectors cannot say stays as it is: a dynamic tile, elements of too many positions of their own.
// CHECK-LABEL: @left_alone
// CHECK-NOT: vector.
// CHECK-COUNT-2: linalg.generic
func.func private @left_alone(%x: tensor<?xf32>, %e: tensor<?xf32>, %t: tensor<9xf32>, %i: tensor<96xi64>, %f: tensor<96xf32>) -> (tensor<?xf32>, tensor<96xf32>) {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<?xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%i : tensor<96xi64>) outs(%f : tensor<96xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%a: i64, %b: f32):
    %at = arith.index_cast %a : i64 to index
    %v = tensor.extract %t[%at] : tensor<9xf32>
    linalg.yield %v : f32
  } -> tensor<96xf32>
  func.return %r, %g : tensor<?xf32>, tensor<96xf32>
}

// -----

// No machine has divisions that round up or down for all lanes: the loops stay.
// CHECK-LABEL: @rounding
// CHECK: linalg.generic
// CHECK: arith.ceildivsi %{{.*}}, %{{.*}} : index
func.func private @rounding(%e: tensor<16xi64>) -> tensor<16xi64> {
  %r = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>], iterator_types = ["parallel"]} outs(%e : tensor<16xi64>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%unused: i64):
    %i = linalg.index 0 : index
    %c3 = arith.constant 3 : index
    %q = arith.ceildivsi %i, %c3 : index
    %n = arith.index_cast %q : index to i64
    linalg.yield %n : i64
  } -> tensor<16xi64>
  func.return %r : tensor<16xi64>
}

// -----

// An element at a position that data gives: the position is a vector, the element is read for each lane. What loops
// alone decide stays an index.
// CHECK-LABEL: @elements
// CHECK: %[[AT:.*]] = arith.maxsi %{{.*}} : vector<1x4xindex>
// CHECK: %[[FIRST:.*]] = vector.extract %[[AT]][0, 0] : index from vector<1x4xindex>
// CHECK-NEXT: %[[A:.*]] = tensor.extract %table[%row, %[[FIRST]]] : tensor<8x100xf32>
// CHECK-NEXT: %[[ALL:.*]] = vector.broadcast %[[A]] : f32 to vector<1x4xf32>
// CHECK: %[[LAST:.*]] = vector.extract %[[AT]][0, 3]
// CHECK-NEXT: %[[D:.*]] = tensor.extract %table[%row, %[[LAST]]]
// CHECK-NEXT: %[[READ:.*]] = vector.insert %[[D]], %{{.*}} [0, 3] : f32 into vector<1x4xf32>
// CHECK-NEXT: vector.transfer_write %[[READ]]
func.func private @elements(%at: tensor<1x4xi64>, %table: tensor<8x100xf32>, %row: index, %e: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%at : tensor<1x4xi64>) outs(%e : tensor<1x4xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 0], vectorize = 1>} {
  ^bb0(%a: i64, %s: f32):
    %i = linalg.index 0 : index
    %own = arith.addi %i, %row : index
    %n = arith.index_cast %a : i64 to index
    %zero = arith.constant 0 : index
    %k = arith.maxsi %n, %zero : index
    %t = tensor.extract %table[%own, %k] : tensor<8x100xf32>
    linalg.yield %t : f32
  } -> tensor<1x4xf32>
  func.return %r : tensor<1x4xf32>
}

// -----

// The largest tile; a scalar operand is in all lanes, what is not used is not read.
// CHECK-LABEL: @largest
// CHECK-NOT: transfer_read %e
// CHECK: %[[S:.*]] = vector.broadcast %s : f32 to vector<2048xf32>
// CHECK-NOT: transfer_read %e
// CHECK: arith.mulf %{{.*}}, %[[S]] : vector<2048xf32>
func.func private @largest(%x: tensor<2048xf32>, %s: f32, %e: tensor<2048xf32>) -> tensor<2048xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x, %s : tensor<2048xf32>, f32) outs(%e : tensor<2048xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%a: f32, %c: f32, %b: f32):
    %n = arith.mulf %a, %c : f32
    linalg.yield %n : f32
  } -> tensor<2048xf32>
  func.return %r : tensor<2048xf32>
}

// -----

// As many steps as may be unrolled; positions along them are numbers, those along lanes a constant.
// CHECK-LABEL: @many_steps
// CHECK: arith.constant dense<[[0, 0, 0], [1, 1, 1]]> : vector<2x3xindex>
// CHECK: vector.broadcast %c0 : index to vector<2x3xindex>
// CHECK: vector.broadcast %c31 : index to vector<2x3xindex>
// CHECK-NOT: vector.broadcast %c32 
func.func private @many_steps(%e: tensor<2x3xindex>, %x: tensor<32xf32>) -> tensor<2x3xindex> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<32xf32>) outs(%e : tensor<2x3xindex>) attrs = {sched.schedule = #sched.schedule<tile = [0, 0, 0], vectorize = 1>} {
  ^bb0(%a: f32, %s: index):
    %i = linalg.index 0 : index
    %k = linalg.index 2 : index
    %p = arith.muli %i, %k : index
    %t = arith.addi %s, %p : index
    linalg.yield %t : index
  } -> tensor<2x3xindex>
  func.return %r : tensor<2x3xindex>
}

// -----

// A product with another use, and a sum without an accumulator, are no fma; the accumulator may be the left operand.
// CHECK-LABEL: @two_uses
// CHECK-NOT: vector.fma
// CHECK: %[[P:.*]] = arith.mulf
// CHECK-NEXT: %[[Q:.*]] = arith.addf %[[P]], %{{.*}} : vector<4xf32>
// CHECK-NEXT: arith.mulf %[[P]], %[[Q]]
// CHECK-NEXT: vector.transfer_write
func.func private @two_uses(%x: tensor<4xf32>, %y: tensor<4xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %p, %s : f32
    %t = arith.mulf %p, %q : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// CHECK-LABEL: @no_accumulator
// CHECK-NOT: vector.fma
// CHECK: arith.addf
func.func private @no_accumulator(%x: tensor<4xf32>, %y: tensor<4xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %p, %b : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// Two results from two accumulators, each of which is the other operand of its sum.
// CHECK-LABEL: @results
// CHECK: %[[S:.*]] = vector.transfer_read %d
// CHECK: %[[T:.*]] = vector.transfer_read %e
// CHECK: %[[V:.*]] = vector.transfer_read %x
// CHECK: %[[W:.*]] = vector.transfer_read %y
// CHECK: %[[P:.*]] = vector.fma %[[V]], %[[W]], %[[S]] : vector<4xf32>
// CHECK: %[[Q:.*]] = arith.addf %[[V]], %[[T]]
// CHECK: %[[E:.*]] = vector.transfer_write %[[Q]], %d
// CHECK: %[[D:.*]] = vector.transfer_write %[[P]], %e
// CHECK: func.return %[[E]], %[[D]]
func.func private @results(%x: tensor<4xf32>, %y: tensor<4xf32>, %d: tensor<4xf32>, %e: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r0, %r1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%d, %e : tensor<4xf32>, tensor<4xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32, %s: f32, %t: f32):
    %m = arith.mulf %a, %b : f32
    %p = arith.addf %m, %s : f32
    %q = arith.addf %a, %t : f32
    linalg.yield %q, %p : f32, f32
  } -> tensor<4xf32>, tensor<4xf32>
  func.return %r0, %r1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A reduction of all loops starts from an element and ends in one; its product is no fma, since its lanes are combined.
// CHECK-LABEL: @whole_row
// CHECK: %[[S:.*]] = tensor.extract %e[] : tensor<f32>
// CHECK: %[[P:.*]] = arith.mulf %{{.*}}, %{{.*}} : vector<8xf32>
// CHECK-NEXT: %[[R:.*]] = vector.multi_reduction <add>, %[[P]], %[[S]] [0] : vector<8xf32> to f32
// CHECK-NEXT: tensor.insert %[[R]] into %e[] : tensor<f32>
func.func private @whole_row(%x: tensor<8xf32>, %y: tensor<8xf32>, %e: tensor<f32>) -> tensor<f32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%x, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<f32>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  func.return %r : tensor<f32>
}

// -----

// CHECK-LABEL: @quotient
// CHECK: %[[Q:.*]] = arith.divf
// CHECK-NEXT: arith.addf %{{.*}}, %[[Q]] : vector<4xf32>
func.func private @quotient(%x: tensor<4xf32>, %y: tensor<4xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.divf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// An element whose position an unrolled loop decides, at each step for all lanes.
// CHECK-LABEL: @reads_of_steps
// CHECK: tensor.extract %t[%c0, %c0]
// CHECK: tensor.extract %t[%c0, %c1]
// CHECK: tensor.extract %t[%c1, %c0]
// CHECK: tensor.extract %t[%c1, %c1]
func.func private @reads_of_steps(%t: tensor<2x2xf32>, %x: tensor<2x2xf32>, %e: tensor<2xf32>) -> tensor<2xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, k) -> (k, i)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x2xf32>) outs(%e : tensor<2xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 0], vectorize = 0>} {
  ^bb0(%a: f32, %s: f32):
    %k = linalg.index 1 : index
    %i = linalg.index 0 : index
    %v = tensor.extract %t[%k, %i] : tensor<2x2xf32>
    %w = arith.addf %v, %a : f32
    %r = arith.addf %s, %w : f32
    linalg.yield %r : f32
  } -> tensor<2xf32>
  func.return %r : tensor<2xf32>
}

// -----

// As many elements at computed positions as are read one by one.
// CHECK-LABEL: @most_reads
// CHECK-COUNT-64: tensor.extract %t
// CHECK-NOT: tensor.extract
func.func private @most_reads(%t: tensor<9xf32>, %x: tensor<64xi64>, %e: tensor<64xf32>) -> tensor<64xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<64xi64>) outs(%e : tensor<64xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%a: i64, %b: f32):
    %at = arith.index_cast %a : i64 to index
    %v = tensor.extract %t[%at] : tensor<9xf32>
    linalg.yield %v : f32
  } -> tensor<64xf32>
  func.return %r : tensor<64xf32>
}

// -----

// A fill is a tile without inputs to read.
// CHECK-LABEL: @filled
// CHECK: %[[V:.*]] = vector.broadcast %s : f32 to vector<2x4xf32>
// CHECK-NEXT: vector.transfer_write %[[V]], %e[%c0, %c0] {in_bounds = [true, true]} : vector<2x4xf32>, tensor<2x4xf32>
func.func private @filled(%s: f32, %e: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = linalg.fill {sched.schedule = #sched.schedule<tile = [0, 0], vectorize = 1>} ins(%s : f32) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %r : tensor<2x4xf32>
}
