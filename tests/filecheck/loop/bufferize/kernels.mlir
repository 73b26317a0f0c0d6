// RUN: stepwell-opt %s -p bufferize | filecheck %s
// RUN: stepwell-opt %s -p bufferize,bufferize | filecheck %s
// RUN: stepwell-opt %s -p 'bufferize{no-copies=true}' | filecheck %s

// The result is written in the output from the start; symbols stay behind the buffers.
// CHECK-LABEL: @elementwise
// CHECK-SAME: (%[[X:.*]]: memref<?x64xf32> {graph.dims = #graph.dims<["N", 64]>}, %[[Y:.*]]: memref<64xf32>, %[[OUT:.*]]: memref<?x64xf32> {graph.dims = #graph.dims<["N", 64]>}, %N: index)
// CHECK-SAME: #sched.kernel<inputs = 2, outputs = 1
// CHECK-NEXT: linalg.generic {{.*}} ins(%[[X]], %[[Y]] : memref<?x64xf32>, memref<64xf32>) outs(%[[OUT]] : memref<?x64xf32>)
// CHECK: func.return
// CHECK-NOT: tensor
func.func private @elementwise(%x: tensor<?x64xf32> {graph.dims = #graph.dims<["N", 64]>}, %y: tensor<64xf32>, %N: index) -> (tensor<?x64xf32> {graph.dims = #graph.dims<["N", 64]>}) attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1, symbols = ["N"]>} {
  %e = tensor.empty(%N) : tensor<?x64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<?x64xf32>, tensor<64xf32>) outs(%e : tensor<?x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<?x64xf32>
  func.return %r : tensor<?x64xf32>
}

// The sums, and what follows them, are made in the output: relu overwrites what only it reads.
// CHECK-LABEL: @matmul_bias_relu
// CHECK-SAME: %[[BIAS:[a-z]+]]: memref<8xf32>, %[[OUT:[a-z]+]]: memref<16x8xf32>)
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[OUT]] : memref<16x8xf32>)
// CHECK: linalg.generic {{.*}} outs(%[[OUT]] : memref<16x8xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[BIAS]] : memref<8xf32>) outs(%[[OUT]] : memref<16x8xf32>)
// CHECK-NOT: alloc
func.func private @matmul_bias_relu(%x: tensor<16x32xf32>, %w: tensor<32x8xf32>, %bias: tensor<8xf32>) -> tensor<16x8xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<16x32xf32>, tensor<32x8xf32>) outs(%f : tensor<16x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x8xf32>
  %e2 = tensor.empty() : tensor<16x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%m, %bias : tensor<16x8xf32>, tensor<8xf32>) outs(%e2 : tensor<16x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.maximumf %0, %zero : f32
    linalg.yield %1 : f32
  } -> tensor<16x8xf32>
  func.return %r : tensor<16x8xf32>
}

// A value that is only reshaped on its way out is computed in the output, seen in its own shape.
// CHECK-LABEL: @reshaped_result
// CHECK-SAME: %[[OUT:[a-z]+]]: memref<?x32xf32> {{.*}}, %[[M:[a-zA-Z]+]]: index)
// CHECK: %[[V:.*]] = memref.expand_shape %[[OUT]] {{.*}} output_shape [%[[M]], 2, 16] : memref<?x32xf32> into memref<?x2x16xf32>
// CHECK: linalg.generic {{.*}} outs(%[[V]] : memref<?x2x16xf32>)
// CHECK-NOT: memref.collapse_shape
func.func private @reshaped_result(%p: tensor<?x2x16xf32> {graph.dims = #graph.dims<["M", 2, 16]>}, %M: index) -> (tensor<?x32xf32> {graph.dims = #graph.dims<["M", 32]>}) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["M"]>} {
  %e = tensor.empty(%M) : tensor<?x2x16xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%p : tensor<?x2x16xf32>) outs(%e : tensor<?x2x16xf32>) {
  ^bb0(%a: f32, %c: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  } -> tensor<?x2x16xf32>
  %r = tensor.collapse_shape %s [[0 : i64], [1 : i64, 2 : i64]] : tensor<?x2x16xf32> into tensor<?x32xf32>
  func.return %r : tensor<?x32xf32>
}

// The window of a pooling only has a shape; nothing is stored in it.
// CHECK-LABEL: @window
// CHECK: %[[W:.*]] = memref.alloca() {{.*}} : memref<3xf32>
// CHECK-NOT: linalg.fill ins({{.*}}) outs(%[[W]]
func.func private @window(%x: tensor<9xf32>) -> tensor<4xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %low = arith.constant 0xFF800000 : f32
  %w = tensor.empty() : tensor<3xf32>
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i * 2 + k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x, %w : tensor<9xf32>, tensor<3xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %u: f32, %c: f32):
    %0 = arith.maximumf %c, %a : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// A function that is no kernel is left alone.
// CHECK-LABEL: @not_a_kernel
// CHECK-SAME: tensor<4xf32>
func.func @not_a_kernel(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
