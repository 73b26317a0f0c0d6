// RUN: stepwell-opt %s -p 'share-kernels{mcpu=x86-64-v3}' | filecheck %s

// A kernel that a branch calls stays as it is, also where `@main` itself calls it too: two are left, too few to
// be joined.
// CHECK-LABEL: func.func @main(
// CHECK: func.call @b0(
// CHECK: func.call @b1(
// CHECK: func.call @b2(
// CHECK: graph.if
// CHECK: func.call @b2(
// CHECK-NOT: _shared
func.func @main(%c: tensor<i1>, %a0: tensor<3x7x16xf32>, %s0: tensor<3x16xf32>, %a1: tensor<5x7x16xf32>, %s1: tensor<5x16xf32>, %a2: tensor<8x7x16xf32>, %s2: tensor<8x16xf32>) -> (tensor<3x7x16xf32>, tensor<5x7x16xf32>, tensor<8x7x16xf32>) {
  %y0 = func.call @b0(%a0, %s0) : (tensor<3x7x16xf32>, tensor<3x16xf32>) -> tensor<3x7x16xf32>
  %y1 = func.call @b1(%a1, %s1) : (tensor<5x7x16xf32>, tensor<5x16xf32>) -> tensor<5x7x16xf32>
  %y2 = func.call @b2(%a2, %s2) : (tensor<8x7x16xf32>, tensor<8x16xf32>) -> tensor<8x7x16xf32>
  %r = graph.if %c : tensor<i1> -> (tensor<8x7x16xf32>) {
    %z = func.call @b2(%y2, %s2) : (tensor<8x7x16xf32>, tensor<8x16xf32>) -> tensor<8x7x16xf32>
    graph.yield %z : tensor<8x7x16xf32>
  } else {
    graph.yield %y2 : tensor<8x7x16xf32>
  }
  func.return %y0, %y1, %r : tensor<3x7x16xf32>, tensor<5x7x16xf32>, tensor<8x7x16xf32>
}
func.func private @b0(%x: tensor<3x7x16xf32>, %b: tensor<3x16xf32>) -> tensor<3x7x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %e = tensor.empty() : tensor<3x7x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, w, l) -> (c, w, l)>, affine_map<(c, w, l) -> (c, l)>, affine_map<(c, w, l) -> (c, w, l)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %b : tensor<3x7x16xf32>, tensor<3x16xf32>) outs(%e : tensor<3x7x16xf32>) {
  ^bb0(%v: f32, %n: f32, %o: f32):
    %s = arith.addf %v, %n : f32
    linalg.yield %s : f32
  } -> tensor<3x7x16xf32>
  func.return %r : tensor<3x7x16xf32>
}
func.func private @b1(%x: tensor<5x7x16xf32>, %b: tensor<5x16xf32>) -> tensor<5x7x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %e = tensor.empty() : tensor<5x7x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, w, l) -> (c, w, l)>, affine_map<(c, w, l) -> (c, l)>, affine_map<(c, w, l) -> (c, w, l)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %b : tensor<5x7x16xf32>, tensor<5x16xf32>) outs(%e : tensor<5x7x16xf32>) {
  ^bb0(%v: f32, %n: f32, %o: f32):
    %s = arith.addf %v, %n : f32
    linalg.yield %s : f32
  } -> tensor<5x7x16xf32>
  func.return %r : tensor<5x7x16xf32>
}
func.func private @b2(%x: tensor<8x7x16xf32>, %b: tensor<8x16xf32>) -> tensor<8x7x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %e = tensor.empty() : tensor<8x7x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, w, l) -> (c, w, l)>, affine_map<(c, w, l) -> (c, l)>, affine_map<(c, w, l) -> (c, w, l)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %b : tensor<8x7x16xf32>, tensor<8x16xf32>) outs(%e : tensor<8x7x16xf32>) {
  ^bb0(%v: f32, %n: f32, %o: f32):
    %s = arith.addf %v, %n : f32
    linalg.yield %s : f32
  } -> tensor<8x7x16xf32>
  func.return %r : tensor<8x7x16xf32>
}
