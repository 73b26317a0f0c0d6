// RUN: stepwell-opt %s -p generalize-named-ops,outline-kernels --split-input-file | filecheck %s

// A product begins a kernel, and what follows is in it; the second product begins another one.
// CHECK-LABEL: func.func @main(%x: tensor<?x8xf32> {graph.name = "x0"
// CHECK-SAME: %w: tensor<8x8xf32> {graph.name = "x1"}
// CHECK-SAME: index)
// CHECK-SAME: sched.program
// CHECK-NOT: linalg
// CHECK: %[[A:.*]] = func.call @k0(%x, %w, %[[N:.*]])
// CHECK: func.call @k1(%[[A]], %w, %[[N]])
// CHECK: func.func private @k0
// CHECK: linalg.fill
// CHECK: "reduction"
// CHECK: math.tanh
// CHECK: func.func private @k1
// CHECK: tensor.empty
// CHECK: linalg.fill
// CHECK: "reduction"
func.func @net(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %m = linalg.matmul ins(%x, %w : tensor<?x8xf32>, tensor<8x8xf32>) outs(%f : tensor<?x8xf32>) -> tensor<?x8xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = math.tanh %a : f32
    linalg.yield %r : f32
  } -> tensor<?x8xf32>
  %y = linalg.matmul ins(%t, %w : tensor<?x8xf32>, tensor<8x8xf32>) outs(%f : tensor<?x8xf32>) -> tensor<?x8xf32>
  func.return %y : tensor<?x8xf32>
}

// -----

// Constant tensors are weights of the program.
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = graph.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK: func.call @k0(%x, %[[W]])
func.func @scaled(%x: tensor<2xf32>) -> tensor<2xf32> {
  %w = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %e = tensor.empty() : tensor<2xf32>
  %y = linalg.add ins(%x, %w : tensor<2xf32>, tensor<2xf32>) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
