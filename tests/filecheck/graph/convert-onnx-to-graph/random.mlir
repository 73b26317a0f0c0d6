// RUN: stepwell-opt %s -p convert-onnx-to-graph,fold-constant,dead-code-elimination | filecheck %s

builtin.module attributes {onnx.opsets = {ai.onnx = 22 : i64}} {
  // A seed is a constant key; without one the host draws a key for each op and call, which is no constant.
  // CHECK-LABEL: func.func @bernoulli
  func.func @bernoulli(%p: tensor<?x4xf32, #graph.dims<["N", 4]>>) -> (!onnx.any, !onnx.any) {
    // CHECK-DAG: %[[K:.*]] = graph.constant dense<[4607182418800017408, 0]> : tensor<2xi64>
    // CHECK: %[[B:.*]] = graph.random_bits %[[K]] count <["4 * N"]> : tensor<2xi64> -> tensor<?xui64
    // CHECK: %[[S:.*]] = graph.shift_right %[[B]], %{{.*}}
    // CHECK: %[[I:.*]] = graph.cast %[[S]] {{.*}}xi32
    // CHECK: graph.cast %[[I]] {{.*}}xf32
    // CHECK: %[[U:.*]] = graph.reshape %{{.*}} shape <["N", 4]>
    // CHECK: %[[Y:.*]] = graph.less %[[U]], %p
    // CHECK: graph.cast %[[Y]]
    %0 = "onnx.Bernoulli"(%p) <{seed = 1.0 : f32}> : (tensor<?x4xf32, #graph.dims<["N", 4]>>) -> !onnx.any
    // CHECK: %[[H:.*]] = graph.host_call "numpy" "host.draw_key" effect {{.*}} () -> tensor<2xi64>
    // CHECK: graph.random_bits %[[H]] count <["4 * N"]>
    %1 = "onnx.Bernoulli"(%p) : (tensor<?x4xf32, #graph.dims<["N", 4]>>) -> !onnx.any
    func.return %0, %1 : !onnx.any, !onnx.any
  }
  // Numbers of f64 have the 53 bits of its fraction.
  // CHECK-LABEL: func.func @uniform
  func.func @uniform() -> !onnx.any {
    // CHECK: %[[B:.*]] = graph.random_bits %{{.*}} count <[6]>
    // CHECK: %[[W:.*]] = graph.constant dense<11> : tensor<ui64>
    // CHECK: graph.shift_right %[[B]], %[[W]]
    // CHECK: graph.constant dense<1.1102230246251565e-16> : tensor<f64>
    // CHECK: graph.reshape %{{.*}} shape <[2, 3]> : tensor<6xf64> -> tensor<2x3xf64>
    %0 = "onnx.RandomUniform"() <{shape = array<i64: 2, 3>, dtype = 11 : i64}> : () -> !onnx.any
    func.return %0 : !onnx.any
  }
  // CHECK-LABEL: func.func @normal
  func.func @normal(%x: tensor<2x3xf16>) -> !onnx.any {
    // CHECK: graph.log %{{.*}} : tensor<6xf32>
    // CHECK: graph.sqrt
    // CHECK: graph.cos
    // CHECK: graph.cast %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf16>
    %0 = "onnx.RandomNormalLike"(%x) : (tensor<2x3xf16>) -> !onnx.any
    func.return %0 : !onnx.any
  }
  // CHECK-LABEL: func.func @multinomial
  func.func @multinomial(%p: tensor<3x4xf32>) -> !onnx.any {
    // CHECK: graph.random_bits %{{.*}} count <[60]>
    // CHECK: graph.log1p
    // CHECK: graph.expand_dims %p axes [1]
    // CHECK: graph.argmax %{{.*}} axis 2 {{.*}} : tensor<3x5x4xf32> -> tensor<3x5xi64>
    // CHECK: graph.cast %{{.*}} : tensor<3x5xi64> -> tensor<3x5xi32>
    %0 = "onnx.Multinomial"(%p) <{sample_size = 5 : i64}> : (tensor<3x4xf32>) -> !onnx.any
    func.return %0 : !onnx.any
  }
}
