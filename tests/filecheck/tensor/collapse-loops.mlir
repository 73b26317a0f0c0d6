// RUN: stepwell-opt %s -p collapse-loops --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p collapse-loops,collapse-loops --split-input-file | filecheck %s

// Rows and columns of an image are one loop in both ops; the channel, which the bias tells apart, is not.
// CHECK-LABEL: @bias_relu
// CHECK: %[[X:.*]] = tensor.collapse_shape %x {{.*}} : tensor<4x7x7xf32> into tensor<4x49xf32>
// CHECK: %[[S:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%[[X]], %b : tensor<4x49xf32>, tensor<4xf32>)
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<4x49xf32>)
// CHECK: %[[Y:.*]] = tensor.expand_shape %[[R]] {{.*}} output_shape [4, 7, 7]
// CHECK: func.return %[[Y]]
func.func private @bias_relu(%x: tensor<4x7x7xf32>, %b: tensor<4xf32>) -> tensor<4x7x7xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x7x7xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(c, h, w) -> (c, h, w)>, affine_map<(c, h, w) -> (c)>, affine_map<(c, h, w) -> (c, h, w)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %b : tensor<4x7x7xf32>, tensor<4xf32>) outs(%e : tensor<4x7x7xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %v = arith.addf %a, %c : f32
    linalg.yield %v : f32
  } -> tensor<4x7x7xf32>
  %e2 = tensor.empty() : tensor<4x7x7xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, h, w) -> (c, h, w)>, affine_map<(c, h, w) -> (c, h, w)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<4x7x7xf32>) outs(%e2 : tensor<4x7x7xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.maximumf %a, %zero : f32
    linalg.yield %v : f32
  } -> tensor<4x7x7xf32>
  func.return %r : tensor<4x7x7xf32>
}

// -----

// The pixels of a 1x1 convolution are one loop: its window of one point moves nothing.
// CHECK-LABEL: @pointwise
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>]
// CHECK-SAME: tensor<3x35xf32>, tensor<2x3x1xf32>) outs(%{{.*}} : tensor<2x35xf32>)
func.func private @pointwise(%x: tensor<3x5x7xf32>, %w: tensor<2x3x1x1xf32>) -> tensor<2x5x7xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x5x7xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5x7xf32>) -> tensor<2x5x7xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(o, h, w, c, r, s) -> (c, h + r, w + s)>, affine_map<(o, h, w, c, r, s) -> (o, c, r, s)>, affine_map<(o, h, w, c, r, s) -> (o, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<3x5x7xf32>, tensor<2x3x1x1xf32>) outs(%f : tensor<2x5x7xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x5x7xf32>
  func.return %r : tensor<2x5x7xf32>
}

// -----

// A transpose, a static loop inside of an open one and a position in the body keep loops apart.
// CHECK-LABEL: @apart
// CHECK-COUNT-3: iterator_types = ["parallel", "parallel"]
// CHECK-NOT: collapse_shape
func.func private @apart(%x: tensor<4x6xf32>, %y: tensor<?x6xf32>, %n: index) -> (tensor<6x4xf32>, tensor<?x6xf32>, tensor<4x6xi64>) attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 3, symbols = ["n"]>} {
  %e = tensor.empty() : tensor<6x4xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x6xf32>) outs(%e : tensor<6x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<6x4xf32>
  %d = tensor.empty(%n) : tensor<?x6xf32>
  %u = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x6xf32>) outs(%d : tensor<?x6xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.negf %a : f32
    linalg.yield %v : f32
  } -> tensor<?x6xf32>
  %p = tensor.empty() : tensor<4x6xi64>
  %i = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%p : tensor<4x6xi64>) {
  ^bb0(%o: i64):
    %j = linalg.index 1 : index
    %v = arith.index_cast %j : index to i64
    linalg.yield %v : i64
  } -> tensor<4x6xi64>
  func.return %t, %u, %i : tensor<6x4xf32>, tensor<?x6xf32>, tensor<4x6xi64>
}

// One window of three of four cells: its loop does not reach all of them.
// CHECK-LABEL: @one_window
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (((d0 * 2) + d1), d2)>
// CHECK-SAME: ins(%x, %w : tensor<4x16xf32>, tensor<3x16xf32>)
func.func @one_window(%x: tensor<4x16xf32>, %w: tensor<3x16xf32>, %init: tensor<1xf32>) -> tensor<1xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0 * 2 + d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x, %w : tensor<4x16xf32>, tensor<3x16xf32>) outs(%init : tensor<1xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %old, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<1xf32>
  func.return %0 : tensor<1xf32>
}

// A body that reads a tensor at computed places sees the op that was built again; loops of the others merge.
// CHECK-LABEL: @read_in_a_body
// CHECK: %[[A:.*]] = linalg.generic
// CHECK: -> tensor<4x6xf32>
// CHECK: linalg.generic
// CHECK: tensor.extract %[[A]]
func.func private @read_in_a_body(%x: tensor<4x6xf32>, %y: tensor<3x4x6xf32>) -> tensor<3x4x6xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %0 = tensor.empty() : tensor<4x6xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  %2 = tensor.empty() : tensor<3x4x6xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%y : tensor<3x4x6xf32>) outs(%2 : tensor<3x4x6xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c3 = arith.constant 3 : index
    %j = linalg.index 2 : index
    %e = tensor.extract %1[%c3, %j] : tensor<4x6xf32>
    %s = arith.addf %a, %e : f32
    linalg.yield %s : f32
  } -> tensor<3x4x6xf32>
  func.return %3 : tensor<3x4x6xf32>
}

// -----

// Open rows and columns are one loop too: its extent is their product. The window of one point moves nothing,
// as the sizes of its operand, floor(h / 2) and w, are known to be the extents of the loops.
// CHECK-LABEL: @open_pointwise
// CHECK: %[[H:.*]] = arith.floordivsi %h, %{{.*}} : index
// CHECK: %[[N:.*]] = arith.muli %[[H]], %w_1 : index
// CHECK: tensor.empty(%[[N]]) : tensor<2x?xf32>
// CHECK: %[[X:.*]] = tensor.collapse_shape %x {{.*}} : tensor<3x?x?xf32> into tensor<3x?xf32>
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>]
// CHECK-SAME: ins(%[[X]],
// CHECK: tensor.expand_shape %{{.*}} {{.*}} output_shape [2, %[[H]], %w_1]
func.func private @open_pointwise(%x: tensor<3x?x?xf32> {graph.dims = #graph.dims<[3, "h floordiv 2", "w"]>}, %w: tensor<2x3x1x1xf32>, %h: index, %w_1: index) -> tensor<2x?x?xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1, symbols = ["h", "w"]>} {
  %zero = arith.constant 0.0 : f32
  %c2 = arith.constant 2 : index
  %n = arith.floordivsi %h, %c2 : index
  %e = tensor.empty(%n, %w_1) : tensor<2x?x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(o, h, w, c, r, s) -> (c, h + r, w + s)>, affine_map<(o, h, w, c, r, s) -> (o, c, r, s)>, affine_map<(o, h, w, c, r, s) -> (o, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<3x?x?xf32>, tensor<2x3x1x1xf32>) outs(%f : tensor<2x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x?x?xf32>
  func.return %r : tensor<2x?x?xf32>
}

// -----

// Where the operand's columns are more than those of the result, or are of another symbol, the loops stay.
// CHECK-LABEL: @open_window
// CHECK-NOT: collapse_shape
// CHECK: affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, {{.*}}, (d2 + d5))>
// CHECK-NOT: collapse_shape
func.func private @open_window(%x: tensor<3x?x?xf32> {graph.dims = #graph.dims<[3, "h", "w + 1"]>}, %w: tensor<2x3x1x1xf32>, %h: index, %w_1: index) -> tensor<2x?x?xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1, symbols = ["h", "w"]>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%h, %w_1) : tensor<2x?x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(o, h, w, c, r, s) -> (c, h + r, w + s)>, affine_map<(o, h, w, c, r, s) -> (o, c, r, s)>, affine_map<(o, h, w, c, r, s) -> (o, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<3x?x?xf32>, tensor<2x3x1x1xf32>) outs(%f : tensor<2x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x?x?xf32>
  func.return %r : tensor<2x?x?xf32>
}

// -----

// A static loop outside of an open one merges with it.
// CHECK-LABEL: @open_rows
// CHECK: tensor.collapse_shape %x {{.*}} : tensor<4x?xf32> into tensor<?xf32>
// CHECK: iterator_types = ["parallel"]
func.func private @open_rows(%x: tensor<4x?xf32>, %n: index) -> tensor<4x?xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["n"]>} {
  %d = tensor.empty(%n) : tensor<4x?xf32>
  %u = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x?xf32>) outs(%d : tensor<4x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.negf %a : f32
    linalg.yield %v : f32
  } -> tensor<4x?xf32>
  func.return %u : tensor<4x?xf32>
}
