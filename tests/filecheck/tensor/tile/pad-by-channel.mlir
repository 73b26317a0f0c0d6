// RUN: stepwell-opt %s -p pad-by-channel --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p pad-by-channel,pad-by-channel --split-input-file | filecheck %s

// One filter a channel: each image is padded in the loop that reads it, and the bias comes along.
// CHECK-LABEL: @depthwise
// CHECK-NOT: tensor<8x58x58xf32>
// CHECK: scf.for %[[C:.*]] = %c0 to %c8 step %c1
// CHECK: %[[X:.*]] = tensor.extract_slice %x[%[[C]], 0, 0] [1, 56, 56] [1, 1, 1]
// CHECK: %[[F:.*]] = linalg.fill {{.*}} -> tensor<1x58x58xf32>
// CHECK: %[[P:.*]] = tensor.insert_slice %[[X]] into %[[F]][0, 1, 1] [1, 56, 56] [1, 1, 1]
// CHECK: %[[W:.*]] = tensor.extract_slice %w[%[[C]], 0, 0] [1, 3, 3] [1, 1, 1]
// CHECK: linalg.generic {{.*}} ins(%[[P]], %[[W]]
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x56x56xf32>)
// CHECK: } {sched.parallel}
func.func private @depthwise(%x: tensor<8x56x56xf32>, %w: tensor<8x3x3xf32>, %b: tensor<8xf32>) -> tensor<8x56x56xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x58x58xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x58x58xf32>) -> tensor<8x58x58xf32>
  %p = tensor.insert_slice %x into %f[0, 1, 1] [8, 56, 56] [1, 1, 1] : tensor<8x56x56xf32> into tensor<8x58x58xf32>
  %o = tensor.empty() : tensor<8x56x56xf32>
  %z = linalg.fill ins(%zero : f32) outs(%o : tensor<8x56x56xf32>) -> tensor<8x56x56xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, h, w, i, j) -> (c, h + i, w + j)>, affine_map<(c, h, w, i, j) -> (c, i, j)>, affine_map<(c, h, w, i, j) -> (c, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%p, %w : tensor<8x58x58xf32>, tensor<8x3x3xf32>) outs(%z : tensor<8x56x56xf32>) {
  ^bb0(%a: f32, %k: f32, %s: f32):
    %m = arith.mulf %a, %k : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<8x56x56xf32>
  %q = tensor.empty() : tensor<8x56x56xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(c, h, w) -> (c, h, w)>, affine_map<(c, h, w) -> (c)>, affine_map<(c, h, w) -> (c, h, w)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%r, %b : tensor<8x56x56xf32>, tensor<8xf32>) outs(%q : tensor<8x56x56xf32>) {
  ^bb0(%a: f32, %k: f32, %s: f32):
    %t = arith.addf %a, %k : f32
    linalg.yield %t : f32
  } -> tensor<8x56x56xf32>
  func.return %y : tensor<8x56x56xf32>
}

// -----

// Filters that read all channels: the loop over these is a sum.
// CHECK-LABEL: @dense
// CHECK-NOT: scf.for
// CHECK: tensor.insert_slice %x into %{{.*}}[0, 1] [64, 1000] [1, 1]
func.func private @dense(%x: tensor<64x1000xf32>, %w: tensor<32x64x3xf32>) -> tensor<32x1000xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x1002xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x1002xf32>) -> tensor<64x1002xf32>
  %p = tensor.insert_slice %x into %f[0, 1] [64, 1000] [1, 1] : tensor<64x1000xf32> into tensor<64x1002xf32>
  %o = tensor.empty() : tensor<32x1000xf32>
  %z = linalg.fill ins(%zero : f32) outs(%o : tensor<32x1000xf32>) -> tensor<32x1000xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(o, w, c, j) -> (c, w + j)>, affine_map<(o, w, c, j) -> (o, c, j)>, affine_map<(o, w, c, j) -> (o, w)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%p, %w : tensor<64x1002xf32>, tensor<32x64x3xf32>) outs(%z : tensor<32x1000xf32>) {
  ^bb0(%a: f32, %k: f32, %s: f32):
    %m = arith.mulf %a, %k : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<32x1000xf32>
  func.return %r : tensor<32x1000xf32>
}

// -----

// A small image is in the cache anyway; so is one channel of open size not known to be.
// CHECK-LABEL: @small
// CHECK-NOT: scf.for
// CHECK-LABEL: @open
// CHECK-NOT: scf.for
func.func private @small(%x: tensor<8x6xf32>, %w: tensor<8x3xf32>) -> tensor<8x6xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = tensor.insert_slice %x into %f[0, 1] [8, 6] [1, 1] : tensor<8x6xf32> into tensor<8x8xf32>
  %o = tensor.empty() : tensor<8x6xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, w, j) -> (c, w + j)>, affine_map<(c, w, j) -> (c, j)>, affine_map<(c, w, j) -> (c, w)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%p, %w : tensor<8x8xf32>, tensor<8x3xf32>) outs(%o : tensor<8x6xf32>) {
  ^bb0(%a: f32, %k: f32, %s: f32):
    %m = arith.mulf %a, %k : f32
    linalg.yield %m : f32
  } -> tensor<8x6xf32>
  func.return %r : tensor<8x6xf32>
}

func.func private @open(%x: tensor<8x?xf32>, %w: tensor<8x3xf32>, %n: index, %n2: index) -> tensor<8x?xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1, symbols = ["n", "n2"]>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n2) : tensor<8x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x?xf32>) -> tensor<8x?xf32>
  %p = tensor.insert_slice %x into %f[0, 1] [8, %n] [1, 1] : tensor<8x?xf32> into tensor<8x?xf32>
  %o = tensor.empty(%n) : tensor<8x?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, w, j) -> (c, w + j)>, affine_map<(c, w, j) -> (c, j)>, affine_map<(c, w, j) -> (c, w)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%p, %w : tensor<8x?xf32>, tensor<8x3xf32>) outs(%o : tensor<8x?xf32>) {
  ^bb0(%a: f32, %k: f32, %s: f32):
    %m = arith.mulf %a, %k : f32
    linalg.yield %m : f32
  } -> tensor<8x?xf32>
  func.return %r : tensor<8x?xf32>
}
