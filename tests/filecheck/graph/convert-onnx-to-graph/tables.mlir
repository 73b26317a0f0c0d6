// RUN: stepwell-opt %s -p convert-onnx-to-graph,fold-constant,cse,dead-code-elimination | filecheck %s

builtin.module attributes {onnx.opsets = {ai.onnx = 18 : i64, ai.onnx.ml = 4 : i64}} {
  // The pool is 5, 7, (5, 7). Items are numbered 0, 1 and 2 for all others, pairs by 3 * first + second.
  // CHECK-LABEL: func.func @bigrams
  func.func @bigrams(%x: tensor<?x4xi32, #graph.dims<["N", 4]>>) -> !onnx.any {
    // CHECK: graph.constant dense<[5, 7]> : tensor<2xi64>
    // CHECK: graph.less_equal
    // CHECK: graph.equal
    // CHECK: %[[I:.*]] = graph.where {{.*}} -> tensor<?x4xi64
    // CHECK: graph.constant dense<[0, 1, 2]> : tensor<3xi64>
    // CHECK: graph.scatter_elements {{.*}} axis 1 combine "add"
    // CHECK: %[[W:.*]] = graph.constant dense<[1, 2, 3]> : tensor<3xi64>
    // CHECK: graph.gather %[[I]], %[[W]] axis 1
    // CHECK: graph.multiply
    // CHECK: graph.constant dense<1> : tensor<1xi64>
    // CHECK: %[[Y:.*]] = graph.scatter_elements {{.*}} axis 1 combine "add"
    // CHECK: func.return %[[Y]] : tensor<?x3xf32
    %0 = "onnx.TfIdfVectorizer"(%x) <{mode = "TF", min_gram_length = 1 : i64, max_gram_length = 2 : i64, max_skip_count = 0 : i64, ngram_counts = array<i64: 0, 2>, ngram_indexes = array<i64: 2, 0, 1>, pool_int64s = array<i64: 5, 7, 5, 7>}> : (tensor<?x4xi32, #graph.dims<["N", 4]>>) -> !onnx.any
    func.return %0 : !onnx.any
  }
  // No key is compared with each element: a position advances by 16, 8, 4, 2 and 1 among 18 keys.
  // CHECK-LABEL: func.func @labels
  func.func @labels(%x: tensor<9xi64>) -> !onnx.any {
    // CHECK-NOT: graph.argmax
    // CHECK-COUNT-5: graph.less_equal
    // CHECK-NOT: graph.less_equal
    // CHECK: %[[P:.*]] = graph.minimum
    // CHECK: graph.equal
    // CHECK: graph.gather %{{.*}}, %[[P]] axis 0 {{.*}} : (tensor<18xf32>, tensor<9xi64>)
    // CHECK: graph.where
    %0 = "onnx.ml.LabelEncoder"(%x) <{keys_int64s = array<i64: 9, 2, 3, 4, 5, 6, 7, 8, 1, 10, 11, 12, 13, 14, 15, 16, 17, 18>, values_floats = array<f32: 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0>}> : (tensor<9xi64>) -> !onnx.any
    func.return %0 : !onnx.any
  }
}
