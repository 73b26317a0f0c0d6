// RUN: stepwell-opt %s -p convert-onnx-to-graph | filecheck %s

// A class has at most as many boxes as there are; the rows of all classes are as many as the counts' sum.
// CHECK-LABEL: @limited
// CHECK: %[[OVERLAP:.*]] = graph.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[CHOSEN:.*]], %[[COUNTS:.*]] = graph.non_max_suppression %b, %s overlap %[[OVERLAP]] most <[40]> center false
// CHECK: %[[FLAT:.*]] = graph.reshape %[[COUNTS]] shape <[6]>
// CHECK: %[[SUM:.*]] = graph.reduce %[[FLAT]] kind "sum" axes [0] keep_dims true
// CHECK: graph.bind_sizes %[[SUM]] names ["[[K:.*]]"]
// CHECK: graph.join_parts %[[CHOSEN]], %[[COUNTS]] size <["[[K]]"]> {{.*}} -> tensor<?x3xi64, #graph.dims<["[[K]]", 3]>>
func.func @limited(%b: tensor<2x40x4xf32>, %s: tensor<2x3x40xf32>) {
  %most = "onnx.Constant"() <{value = dense<50> : tensor<1xi64>}> : () -> !onnx.any
  %0 = "onnx.NonMaxSuppression"(%b, %s, %most) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (tensor<2x40x4xf32>, tensor<2x3x40xf32>, !onnx.any) -> !onnx.any
  func.return
}
// A limit that is data becomes a size between 0 and the number of boxes.
// CHECK-LABEL: @data
// CHECK: graph.maximum
// CHECK: %[[INSIDE:.*]] = graph.minimum
// CHECK: graph.bind_sizes %[[INSIDE]] names ["[[MOST:.*]]"]
// CHECK: graph.non_max_suppression %b, %s overlap %{{.*}} least %{{.*}} most <["[[MOST]]"]> center true
func.func @data(%b: tensor<2x40x4xf32>, %s: tensor<2x3x40xf32>, %n: tensor<1xi64>, %t: tensor<1xf32>) {
  %0 = "onnx.NonMaxSuppression"(%b, %s, %n, %t, %t) <{center_point_box = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (tensor<2x40x4xf32>, tensor<2x3x40xf32>, tensor<1xi64>, tensor<1xf32>, tensor<1xf32>) -> !onnx.any
  func.return
}
// No limit is one of 0, as a negative one is.
// CHECK-LABEL: @none
// CHECK: graph.non_max_suppression {{.*}} most <[0]>
// CHECK: graph.non_max_suppression {{.*}} most <[0]>
func.func @none(%b: tensor<2x40x4xf32>, %s: tensor<2x3x40xf32>) {
  %0 = "onnx.NonMaxSuppression"(%b, %s) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>}> : (tensor<2x40x4xf32>, tensor<2x3x40xf32>) -> !onnx.any
  %most = "onnx.Constant"() <{value = dense<-1> : tensor<i64>}> : () -> !onnx.any
  %1 = "onnx.NonMaxSuppression"(%b, %s, %most) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (tensor<2x40x4xf32>, tensor<2x3x40xf32>, !onnx.any) -> !onnx.any
  func.return
}
// Sizes that only a call knows are compared then.
// CHECK-LABEL: @open
// CHECK-DAG: graph.assert "A" equals "B"
// CHECK-DAG: graph.assert "N" equals "M"
// CHECK-DAG: graph.assert "W" equals "4"
// CHECK: graph.non_max_suppression
func.func @open(%b: tensor<?x?x?xf32, #graph.dims<["A", "N", "W"]>>, %s: tensor<?x3x?xf32, #graph.dims<["B", 3, "M"]>>) {
  %0 = "onnx.NonMaxSuppression"(%b, %s) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>}> : (tensor<?x?x?xf32, #graph.dims<["A", "N", "W"]>>, tensor<?x3x?xf32, #graph.dims<["B", 3, "M"]>>) -> !onnx.any
  func.return
}
