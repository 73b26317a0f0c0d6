// RUN: stepwell-opt %s -p 'scale-channels{factors="%S/factors.json"}' | filecheck %s

// Two products read one norm: its gain and term are divided, both weights multiplied, that of `b` by columns.
// A relu, a term and a bias before `d`: rows of its weight are multiplied, columns of `b` and terms divided.
// The activation of `e` is an input, which nothing divides: `e` stays as it is.
// CHECK-DAG: %[[G:.*]] = "onnx.Constant"() <{value = dense<5.000000e-01> : tensor<2xf32>}> {{.*}} onnx.values = ["g_scaled"]}
// CHECK-DAG: %[[T:.*]] = "onnx.Constant"() <{value = dense<[4.000000e+00, -2.000000e+00]> {{.*}} onnx.values = ["t_scaled"]}
// CHECK-DAG: %[[A:.*]] = "onnx.Constant"() <{value = dense<{{\[\[}}2.000000e+00, 4.000000e+00], [1.200000e+01, 1.600000e+01]]> {{.*}} onnx.values = ["w_scaled"]}
// CHECK-DAG: %[[B:.*]] = "onnx.Constant"() <{value = dense<{{\[\[}}4.000000e+00, 1.600000e+01], [6.000000e+00, 1.600000e+01]]> {{.*}} onnx.values = ["v_scaled_scaled"]}
// CHECK-DAG: %[[C:.*]] = "onnx.Constant"() <{value = dense<[2.000000e+01, 6.000000e+00]> {{.*}} onnx.values = ["c_scaled"]}
// CHECK-DAG: %[[S:.*]] = "onnx.Constant"() <{value = dense<{{\[\[}}2.000000e+00, 4.000000e+00]]> {{.*}} onnx.values = ["s_scaled"]}
// CHECK-DAG: %[[D:.*]] = "onnx.Constant"() <{value = dense<{{\[\[}}5.000000e-01, 1.000000e+00], [3.000000e+00, 4.000000e+00]]> {{.*}} onnx.values = ["w_scaled"]}
// CHECK-DAG: %[[W:.*]] = "onnx.Constant"() <{value = dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> {{.*}} onnx.values = ["w"]}
// CHECK: "onnx.LayerNormalization"(%x, %[[G]], %[[T]])
// CHECK: "onnx.MatMul"(%{{.*}}, %[[A]])
// CHECK: "onnx.Gemm"(%{{.*}}, %[[B]], %[[C]])
// CHECK: "onnx.Add"(%{{.*}}, %[[S]])
// CHECK: "onnx.MatMul"(%{{.*}}, %[[D]])
// CHECK: "onnx.MatMul"(%x, %[[W]])
builtin.module attributes {onnx.opsets = {"" = 17 : i64}} {
  func.func @main(%x: tensor<4x2xf32> {graph.name = "x"}) -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>) {
    %g = "onnx.Constant"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> {onnx.initializer, onnx.values = ["g"]} : () -> tensor<2xf32>
    %t = "onnx.Constant"() <{value = dense<[8.0, -8.0]> : tensor<2xf32>}> {onnx.initializer, onnx.values = ["t"]} : () -> tensor<2xf32>
    %w = "onnx.Constant"() <{value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>}> {onnx.initializer, onnx.values = ["w"]} : () -> tensor<2x2xf32>
    %v = "onnx.Constant"() <{value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>}> {onnx.initializer, onnx.values = ["v"]} : () -> tensor<2x2xf32>
    %c = "onnx.Constant"() <{value = dense<[10.0, 6.0]> : tensor<2xf32>}> {onnx.initializer, onnx.values = ["c"]} : () -> tensor<2xf32>
    %s = "onnx.Constant"() <{value = dense<[[1.0, 4.0]]> : tensor<1x2xf32>}> {onnx.initializer, onnx.values = ["s"]} : () -> tensor<1x2xf32>
    %n = "onnx.LayerNormalization"(%x, %g, %t) <{resultSegmentSizes = array<i32: 1, 0, 0>}> {onnx.values = ["n"]} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32> loc("n")
    %a = "onnx.MatMul"(%n, %w) {onnx.values = ["a"]} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32> loc("a")
    %b = "onnx.Gemm"(%n, %v, %c) <{transB = 1 : i64}> {onnx.values = ["b"]} : (tensor<4x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<4x2xf32> loc("b")
    %p = "onnx.Add"(%b, %s) {onnx.values = ["p"]} : (tensor<4x2xf32>, tensor<1x2xf32>) -> tensor<4x2xf32> loc("p")
    %r = "onnx.Relu"(%p) {onnx.values = ["r"]} : (tensor<4x2xf32>) -> tensor<4x2xf32> loc("r")
    %d = "onnx.MatMul"(%r, %w) {onnx.values = ["d"]} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32> loc("d")
    %e = "onnx.MatMul"(%x, %w) {onnx.values = ["e"]} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32> loc("e")
    func.return %a, %d, %e : tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>
  }
}
