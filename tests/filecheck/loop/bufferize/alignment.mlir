// RUN: stepwell-opt %s -p 'bufferize{alignment=256}' | filecheck %s

// Two temporaries of 80,080 bytes begin at multiples of 256.
// CHECK-LABEL: @scratch
// CHECK-SAME: scratch = 160256
// CHECK: arith.constant 80128 : index
func.func private @scratch(%x: tensor<4x5005xf32>) -> tensor<4x5005xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %e0 = tensor.empty() : tensor<4x5005xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, -j + 5004)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x5005xf32>) outs(%e0 : tensor<4x5005xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x5005xf32>
  %e1 = tensor.empty() : tensor<4x5005xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, -j + 5004)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x5005xf32>) outs(%e1 : tensor<4x5005xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.mulf %p, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x5005xf32>
  %e2 = tensor.empty() : tensor<4x5005xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, -j + 5004)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<4x5005xf32>) outs(%e2 : tensor<4x5005xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.negf %p : f32
    linalg.yield %s : f32
  } -> tensor<4x5005xf32>
  func.return %c : tensor<4x5005xf32>
}
