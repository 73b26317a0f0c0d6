// RUN: stepwell-opt %s -p raise-to-row-ops | filecheck %s
// RUN: stepwell-opt %s -p simplify-expr,raise-to-row-ops | filecheck %s
// RUN: stepwell-opt %s -p simplify-inference,raise-to-row-ops,raise-to-row-ops | filecheck %s
// RUN: stepwell-opt %s -p 'raise-to-row-ops{only=softmax,log_softmax}' | filecheck %s --check-prefix SOFTMAX
// RUN: not stepwell-opt %s -p 'raise-to-row-ops{only=softmax,soft_max}' 2>&1 | filecheck %s --check-prefix BAD
// BAD: error[bad-option]: raise-to-row-ops has no rewrite for soft_max

// CHECK-LABEL: @softmax
// CHECK: graph.softmax %x axis 1
// CHECK-NEXT: func.return
// SOFTMAX-LABEL: @softmax
// SOFTMAX: graph.softmax
func.func @softmax(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %m = graph.reduce %x kind "max" axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
  %a = graph.subtract %x, %m : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %b = graph.exp %a : tensor<2x4xf32> -> tensor<2x4xf32>
  %s = graph.reduce %b kind "sum" axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
  %y = graph.divide %b, %s : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// Views in place of kept dimensions, a maximum with -inf, any axis, open dimensions.
// CHECK-LABEL: @softmax_of_jax
// CHECK: graph.softmax %x axis 0
// CHECK-NEXT: func.return
func.func @softmax_of_jax(%x: tensor<4x?xf32, #graph.dims<[4, "N"]>>) -> tensor<4x?xf32, #graph.dims<[4, "N"]>> {
  %low = graph.constant dense<0xFF800000> : tensor<f32>
  %m = graph.reduce %x kind "max" axes [0] keep_dims false : tensor<4x?xf32, #graph.dims<[4, "N"]>> -> tensor<?xf32, #graph.dims<["N"]>>
  %v = graph.reshape %m shape <[1, "N"]> : tensor<?xf32, #graph.dims<["N"]>> -> tensor<1x?xf32, #graph.dims<[1, "N"]>>
  %w = graph.maximum %low, %v : (tensor<f32>, tensor<1x?xf32, #graph.dims<[1, "N"]>>) -> tensor<1x?xf32, #graph.dims<[1, "N"]>>
  %a = graph.subtract %x, %w : (tensor<4x?xf32, #graph.dims<[4, "N"]>>, tensor<1x?xf32, #graph.dims<[1, "N"]>>) -> tensor<4x?xf32, #graph.dims<[4, "N"]>>
  %b = graph.exp %a : tensor<4x?xf32, #graph.dims<[4, "N"]>> -> tensor<4x?xf32, #graph.dims<[4, "N"]>>
  %s = graph.reduce %b kind "sum" axes [0] keep_dims false : tensor<4x?xf32, #graph.dims<[4, "N"]>> -> tensor<?xf32, #graph.dims<["N"]>>
  %t = graph.expand_dims %s axes [0] : tensor<?xf32, #graph.dims<["N"]>> -> tensor<1x?xf32, #graph.dims<[1, "N"]>>
  %y = graph.divide %b, %t : (tensor<4x?xf32, #graph.dims<[4, "N"]>>, tensor<1x?xf32, #graph.dims<[1, "N"]>>) -> tensor<4x?xf32, #graph.dims<[4, "N"]>>
  func.return %y : tensor<4x?xf32, #graph.dims<[4, "N"]>>
}

// CHECK-LABEL: @log_softmax
// CHECK: graph.log_softmax %x axis 1
// CHECK-NEXT: graph.log_softmax %x axis 1
// CHECK-NEXT: func.return
func.func @log_softmax(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %e = graph.exp %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %s = graph.reduce %e kind "sum" axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
  %p = graph.divide %e, %s : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %y = graph.log %p : tensor<2x4xf32> -> tensor<2x4xf32>
  %l = graph.reduce %x kind "log_sum_exp" axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
  %z = graph.subtract %x, %l : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  func.return %y, %z : tensor<2x4xf32>, tensor<2x4xf32>
}

// CHECK-LABEL: @layer_norm
// CHECK: graph.layer_norm %x scale %s : tensor<4xf32> bias %b : tensor<4xf32> axis 1 eps 1.000000e-05
// CHECK-NEXT: func.return
// SOFTMAX-LABEL: @layer_norm
// SOFTMAX-NOT: graph.layer_norm
func.func @layer_norm(%x: tensor<2x4xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %eps = graph.constant dense<1.0e-5> : tensor<f32>
  %two = graph.constant dense<2.0> : tensor<f32>
  %m = graph.reduce %x kind "mean" axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
  %c = graph.subtract %x, %m : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %e = graph.subtract %x, %m : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %q = graph.power %e, %two : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %v = graph.reduce %q kind "mean" axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
  %w = graph.add %v, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %d = graph.sqrt %w : tensor<2x1xf32> -> tensor<2x1xf32>
  %n = graph.divide %c, %d : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %t = graph.multiply %s, %n : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = graph.add %t, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// Rows of two dimensions, one over the root.
// CHECK-LABEL: @rms_norm
// CHECK: graph.rms_norm %x scale %s : tensor<4x3xf32> axis 1 eps
// CHECK-NEXT: func.return
func.func @rms_norm(%x: tensor<2x4x3xf32>, %s: tensor<4x3xf32>) -> tensor<2x4x3xf32> {
  %eps = graph.constant dense<1.0e-6> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %q = graph.multiply %x, %x : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  %v = graph.reduce %q kind "mean" axes [1, 2] keep_dims true : tensor<2x4x3xf32> -> tensor<2x1x1xf32>
  %w = graph.add %eps, %v : (tensor<f32>, tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %d = graph.sqrt %w : tensor<2x1x1xf32> -> tensor<2x1x1xf32>
  %i = graph.divide %one, %d : (tensor<f32>, tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %n = graph.multiply %x, %i : (tensor<2x4x3xf32>, tensor<2x1x1xf32>) -> tensor<2x4x3xf32>
  %y = graph.multiply %n, %s : (tensor<2x4x3xf32>, tensor<4x3xf32>) -> tensor<2x4x3xf32>
  func.return %y : tensor<2x4x3xf32>
}

// A factor per row is no scale, sums along two axes are no softmax, columns are no rows, and what something
// else reads stays.
// CHECK-LABEL: @kept
// CHECK-NOT: graph.softmax
// CHECK-NOT: graph.layer_norm
// CHECK: %[[N:.*]] = graph.rms_norm %x axis 1
// CHECK: graph.multiply %[[N]], %r
func.func @kept(%x: tensor<2x4xf32>, %r: tensor<2x1xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x1xf32>) {
  %eps = graph.constant dense<1.0e-6> : tensor<f32>
  %q = graph.multiply %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %v = graph.reduce %q kind "mean" axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
  %w = graph.add %v, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %d = graph.rsqrt %w : tensor<2x1xf32> -> tensor<2x1xf32>
  %n = graph.multiply %x, %d : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %y0 = graph.multiply %n, %r : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %b = graph.exp %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %s = graph.reduce %b kind "sum" axes [0, 1] keep_dims true : tensor<2x4xf32> -> tensor<1x1xf32>
  %y1 = graph.divide %b, %s : (tensor<2x4xf32>, tensor<1x1xf32>) -> tensor<2x4xf32>
  %m = graph.reduce %x kind "mean" axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
  %c = graph.subtract %x, %m : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %q1 = graph.multiply %c, %c : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %v1 = graph.reduce %q1 kind "mean" axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
  %w1 = graph.add %v1, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %d1 = graph.rsqrt %w1 : tensor<2x1xf32> -> tensor<2x1xf32>
  %y2 = graph.multiply %c, %d1 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  func.return %y0, %y1, %y2, %m : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x1xf32>
}
