// RUN: stepwell-opt %s -p annotate-quantization | filecheck %s
// RUN: stepwell-opt %s -p 'annotate-quantization{scheme=w8 activation-type=s8}' | filecheck %s --check-prefix WEIGHTS
// RUN: stepwell-opt %s -p 'annotate-quantization{keep="*_0"}' | filecheck %s --check-prefix KEEP
// RUN: stepwell-opt %s -p 'annotate-quantization{only="matmul_0" all-results=true}' | filecheck %s --check-prefix ONLY

// The sum of a shortcut is read by a product: both of its sides are quantized. The result of the convolution is
// read by them in integers, and by a softmax in floats: that reads integers too.
// CHECK-LABEL: @main
// CHECK: %[[W:.*]] = graph.constant
// CHECK: %[[X:.*]] = graph.observe %x key "conv_0:0" role "activation" to ui8
// CHECK: %[[V:.*]] = graph.observe %[[W]] key "conv_0:1" role "weight" to i8 axis 0
// CHECK: %[[C:.*]] = graph.conv %[[X]], %[[V]]
// CHECK: %[[R:.*]] = graph.relu %[[C]]
// CHECK: %[[RESULT:.*]] = graph.observe %[[R]] key "relu_0:result" role "result" to ui8
// CHECK-DAG: graph.softmax %[[RESULT]]
// CHECK-DAG: %[[A:.*]] = graph.observe %[[R]] key "add_0:0" role "activation" to ui8
// CHECK-DAG: %[[B:.*]] = graph.observe %x key "add_0:1" role "activation" to ui8
// CHECK: graph.add %[[A]], %[[B]]
// CHECK: key "matmul_0:0" role "activation"
// CHECK: key "matmul_0:1" role "weight" to i8 axis 1
// CHECK-NOT: observe

// WEIGHTS-NOT: role "activation"
// WEIGHTS: key "conv_0:1" role "weight" to i8 axis 0
// WEIGHTS: key "matmul_0:1" role "weight" to i8 axis 1
// WEIGHTS: key "matmul_1:1" role "weight" to i8 axis 0
// WEIGHTS-LABEL: @pooled
// WEIGHTS: key "matmul_0:1"
// WEIGHTS-NOT: observe

// ONLY-NOT: key "conv
// ONLY: key "add_0:0"
// ONLY: key "add_0:1"
// ONLY: key "matmul_0:0"
// ONLY: key "matmul_0:1"
// ONLY-LABEL: @products
// ONLY-NOT: key "matmul_1
func.func @main(%x: tensor<1x4x4x4xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x2xf32>) {
  %w = graph.constant #graph.weight<"w", "00", tensor<4x4x1x1xf32>> : tensor<4x4x1x1xf32>
  %m = graph.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
  %c = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %r = graph.relu %c : tensor<1x4x4x4xf32> -> tensor<1x4x4x4xf32>
  %s = graph.softmax %r axis 1 : tensor<1x4x4x4xf32> -> tensor<1x4x4x4xf32>
  %a = graph.add %r, %x : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %p = graph.matmul %a, %m : (tensor<1x4x4x4xf32>, tensor<4x2xf32>) -> tensor<1x4x4x2xf32>
  func.return %s, %p : tensor<1x4x4x4xf32>, tensor<1x4x4x2xf32>
}

// KEEP-NOT: observe
// KEEP-LABEL: @products
// KEEP-NOT: key "matmul_0
// KEEP: key "matmul_1:0"
// KEEP: key "matmul_1:1" role "weight" to i8 axis 0
// KEEP-NOT: observe
// A product of two activations is quantized when a product with weights depends on it; one at the end is not.
// CHECK-LABEL: @products
// CHECK: key "matmul_0:0" role "activation"
// CHECK: key "matmul_0:1" role "activation"
// CHECK: key "matmul_1:0" role "activation"
// CHECK: key "matmul_1:1" role "weight" to i8 axis 0
// CHECK-NOT: observe
func.func @products(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %m = graph.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
  %0 = graph.matmul %x, %y : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.matmul %0, %m transpose_b true : (tensor<4x4xf32>, tensor<2x4xf32>) -> tensor<4x2xf32>
  %2 = graph.matmul %1, %1 transpose_b true : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  func.return %2 : tensor<4x4xf32>
}

// A sum that a mean reads in floats before the classifier is quantized, and so is its result.
// CHECK-LABEL: @pooled
// CHECK: key "add_0:0" role "activation"
// CHECK: key "add_0:1" role "activation"
// CHECK: %[[R:.*]] = graph.relu
// CHECK: %[[O:.*]] = graph.observe %[[R]] key "relu_0:result" role "result" to ui8
// CHECK: graph.reduce %[[O]] kind "mean"
func.func @pooled(%x: tensor<1x4xf32>, %y: tensor<1x4xf32>) -> tensor<1x2xf32> {
  %k = graph.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %a = graph.add %x, %y : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %r = graph.relu %a : tensor<1x4xf32> -> tensor<1x4xf32>
  %p = graph.reduce %r kind "mean" axes [1] keep_dims true : tensor<1x4xf32> -> tensor<1x1xf32>
  %0 = graph.matmul %p, %k : (tensor<1x1xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  func.return %0 : tensor<1x2xf32>
}
