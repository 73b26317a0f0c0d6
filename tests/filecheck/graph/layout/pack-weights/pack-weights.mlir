// RUN: stepwell-opt %s -p 'pack-weights{lanes=2}' | filecheck %s
// RUN: stepwell-opt %s -p 'pack-weights{lanes=2},pack-weights{lanes=2}' | filecheck %s

// Panels of two vectors where the columns allow it; one packed matrix serves both products.
// CHECK-LABEL: @panels
func.func @panels(%a: tensor<?x2xf32, #graph.dims<["M", 2]>>) -> (tensor<?x8xf32, #graph.dims<["M", 8]>>, tensor<?x8xf32, #graph.dims<["M", 8]>>) {
  // CHECK: %[[B:.*]] = graph.constant dense<{{\[\[\[}}1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00], [9.000000e+00, 1.000000e+01, 1.100000e+01, 1.200000e+01]], {{.*}}> : tensor<2x2x4xf32>
  %b = graph.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]]> : tensor<2x8xf32>
  // CHECK: graph.matmul %a, %[[B]] packing 4
  %0 = graph.matmul %a, %b : (tensor<?x2xf32, #graph.dims<["M", 2]>>, tensor<2x8xf32>) -> tensor<?x8xf32, #graph.dims<["M", 8]>>
  // CHECK: graph.matmul %a, %[[B]] packing 4
  %1 = graph.matmul %a, %b : (tensor<?x2xf32, #graph.dims<["M", 2]>>, tensor<2x8xf32>) -> tensor<?x8xf32, #graph.dims<["M", 8]>>
  func.return %0, %1 : tensor<?x8xf32, #graph.dims<["M", 8]>>, tensor<?x8xf32, #graph.dims<["M", 8]>>
}

// A transposed matrix is turned; three vectors divide six columns.
// CHECK-LABEL: @transposed
func.func @transposed(%a: tensor<4x2xf32>) -> tensor<4x6xf32> {
  // CHECK: %[[B:.*]] = graph.constant dense<{{\[\[\[}}1.000000e+00, 3.000000e+00, 5.000000e+00, 7.000000e+00, 9.000000e+00, 1.100000e+01], [2.000000e+00, {{.*}}> : tensor<1x2x6xf32>
  %b = graph.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 10.0], [11.0, 12.0]]> : tensor<6x2xf32>
  // CHECK: graph.matmul %a, %[[B]] packing 6 :
  %0 = graph.matmul %a, %b transpose_b true : (tensor<4x2xf32>, tensor<6x2xf32>) -> tensor<4x6xf32>
  func.return %0 : tensor<4x6xf32>
}

// No panel divides three columns: only turned. What is no constant stays.
// CHECK-LABEL: @odd
func.func @odd(%a: tensor<4x2xf32>, %c: tensor<2x8xf32>) -> (tensor<4x3xf32>, tensor<4x8xf32>) {
  // CHECK: %[[B:.*]] = graph.constant {{.*}} : tensor<2x3xf32>
  %b = graph.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  // CHECK: graph.matmul %a, %[[B]] : (tensor<4x2xf32>, tensor<2x3xf32>)
  %0 = graph.matmul %a, %b transpose_b true : (tensor<4x2xf32>, tensor<3x2xf32>) -> tensor<4x3xf32>
  // CHECK: graph.matmul %a, %c :
  %1 = graph.matmul %a, %c : (tensor<4x2xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  func.return %0, %1 : tensor<4x3xf32>, tensor<4x8xf32>
}

// Weights of a recurrent layer become panels of a gate's rows: all of them where no panel divides these.
// CHECK-LABEL: @layer
func.func @layer(%x: tensor<5x1x2xf32>) -> tensor<5x1x1x3xf32> {
  // CHECK: %[[W:.*]] = graph.constant dense<{{\[\[\[\[}}1.000000e+00, 3.000000e+00, 5.000000e+00], [2.000000e+00, 4.000000e+00, 6.000000e+00]]]]> : tensor<1x1x2x3xf32>
  %w = graph.constant dense<[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]]> : tensor<1x3x2xf32>
  // CHECK: %[[R:.*]] = graph.constant dense<{{\[\[\[\[}}1.000000e+00, 4.000000e+00, 7.000000e+00], {{.*}} : tensor<1x1x3x3xf32>
  %r = graph.constant dense<[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]]> : tensor<1x3x3xf32>
  // CHECK: graph.rnn %x, %[[W]], %[[R]] {{.*}} packing 3
  %y, %h = graph.rnn %x, %w, %r cell "rnn" direction "forward" activations ["tanh"] alphas [0.0] betas [0.0] : (tensor<5x1x2xf32>, tensor<1x3x2xf32>, tensor<1x3x3xf32>) -> tensor<5x1x1x3xf32>, tensor<1x1x3xf32>
  func.return %y : tensor<5x1x1x3xf32>
}
