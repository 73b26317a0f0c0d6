// RUN: stepwell-opt %s -p convert-onnx-to-graph | filecheck %s

// Types are inferred from those of the inputs; a function's results get them too.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<?x4xf32, #graph.dims<["N", 4]>> {graph.name = "y"})
func.func @main(
    %x: tensor<?x4xf32, #graph.dims<["N", 4]>> {graph.name = "x"}, %b: tensor<4xf32>
) -> (tensor<*xf32> {graph.name = "y"}) {
  // CHECK: %[[SUM:.*]] = graph.add %x, %b : (tensor<?x4xf32, #graph.dims<["N", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %0 = "onnx.Add"(%x, %b) : (tensor<?x4xf32, #graph.dims<["N", 4]>>, tensor<4xf32>) -> tensor<*xf32>
  // CHECK: graph.relu %[[SUM]]
  %1 = "onnx.Relu"(%0) : (tensor<*xf32>) -> tensor<*xf32>
  func.return %1 : tensor<*xf32>
}

// CHECK-LABEL: func.func @comparisons
func.func @comparisons(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // Never `not less`: NaN makes both false.
  // CHECK: graph.less %b, %a
  %0 = "onnx.Greater"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK: graph.less_equal %b, %a
  %1 = "onnx.GreaterOrEqual"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK: graph.where %{{.*}}, %a, %b
  %2 = "onnx.Where"(%1, %a, %b) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: graph.is_inf %a positive true negative false
  %3 = "onnx.IsInf"(%a) <{detect_negative = 0 : i64}> : (tensor<4xf32>) -> tensor<4xi1>
  func.return
}

// CHECK-LABEL: func.func @chains
func.func @chains(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[M:.*]] = graph.maximum %a, %b
  // CHECK: graph.maximum %[[M]], %c
  %0 = "onnx.Max"(%a, %b, %c) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %[[S:.*]] = graph.add %a, %b
  // CHECK: %[[TWO:.*]] = graph.constant dense<2.000000e+00> : tensor<f32>
  // CHECK: graph.divide %[[S]], %[[TWO]]
  %1 = "onnx.Mean"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // A chain of one is the value itself.
  // CHECK: func.return %a, %{{.*}}
  %2 = "onnx.Sum"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @integers
func.func @integers(%a: tensor<4xi32>, %b: tensor<4xi32>) {
  // CHECK: graph.remainder %a, %b rounding "floor"
  %0 = "onnx.Mod"(%a, %b) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: graph.remainder %a, %b rounding "trunc"
  %1 = "onnx.Mod"(%a, %b) <{fmod = 1 : i64}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: graph.cast %a to f32
  %2 = "onnx.Cast"(%a) <{to = 1 : i64}> : (tensor<4xi32>) -> tensor<4xf32>
  // A cast to the type that it has is nothing.
  // CHECK: graph.neg %a
  %3 = "onnx.Cast"(%a) <{to = 6 : i64}> : (tensor<4xi32>) -> tensor<4xi32>
  %4 = "onnx.Neg"(%3) : (tensor<4xi32>) -> tensor<4xi32>
  func.return
}

// A dimension that is one symbol may be 1 when the model runs: it is stretched then, which a call checks.
// CHECK-LABEL: func.func @two_names
func.func @two_names(
    %a: tensor<?x?xf32, #graph.dims<["N", "S"]>>, %b: tensor<?x1xf32, #graph.dims<["M", 1]>>, %c: tensor<4xf32>
) {
  // CHECK: graph.assert "N" equals "{{.*}}", "Add at {{.*}}: dimension N must be 1 or the size that it broadcasts to"
  // CHECK: %[[A:.*]] = graph.gather %a, %{{.*}} axis 0
  // CHECK: graph.assert "M" equals
  // CHECK: %[[B:.*]] = graph.gather %b, %{{.*}} axis 0
  // CHECK: graph.add %[[A]], %[[B]] : {{.*}} -> tensor<?x?xf32, #graph.dims<["((M * N) floordiv (max(1, min(M, N))))", "S"]>>
  %0 = "onnx.Add"(%a, %b) : (tensor<?x?xf32, #graph.dims<["N", "S"]>>, tensor<?x1xf32, #graph.dims<["M", 1]>>) -> tensor<*xf32>
  // CHECK: graph.assert "S" equals "{{.*}}4 * min(1, max(-S + 1, S - 1))"
  // CHECK: %[[A:.*]] = graph.gather %a, %{{.*}} axis 1
  // CHECK: graph.multiply %[[A]], %c : {{.*}} -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %1 = "onnx.Mul"(%a, %c) : (tensor<?x?xf32, #graph.dims<["N", "S"]>>, tensor<4xf32>) -> tensor<*xf32>
  func.return
}

// An expression is computed from other sizes, as behind a convolution: it is taken as equal; a number wins.
// CHECK-LABEL: func.func @expressions
func.func @expressions(
    %a: tensor<?xf32, #graph.dims<["S + T"]>>, %b: tensor<?xf32, #graph.dims<["P"]>>, %c: tensor<4xf32>
) {
  // CHECK: graph.assert "P" equals
  // CHECK: %[[B:.*]] = graph.gather %b
  // CHECK: graph.add %a, %[[B]] : {{.*}} -> tensor<?xf32, #graph.dims<["S + T"]>>
  %0 = "onnx.Add"(%a, %b) : (tensor<?xf32, #graph.dims<["S + T"]>>, tensor<?xf32, #graph.dims<["P"]>>) -> tensor<*xf32>
  // CHECK: graph.assert "S + T" equals "4", "Mul at {{.*}}: dimensions S + T and 4 must be equal, since neither is a fixed 1"
  // CHECK: %[[A:.*]] = graph.reshape %a shape <[4]>
  // CHECK: graph.multiply %[[A]], %c
  %1 = "onnx.Mul"(%a, %c) : (tensor<?xf32, #graph.dims<["S + T"]>>, tensor<4xf32>) -> tensor<*xf32>
  func.return
}
