// RUN: stepwell-opt %s -p convert-onnx-to-graph,dead-code-elimination | filecheck %s

builtin.module attributes {onnx.opsets = {ai.onnx = 18 : i64}} {
  // The window of a kernel that is stretched reaches as far as the scale says: a size of the run.
  // CHECK-LABEL: func.func @antialias
  func.func @antialias(%x: tensor<2x8xf32>, %s: tensor<1xi64>) -> !onnx.any {
    // CHECK: graph.bind_sizes %s names
    // CHECK: %[[R:.*]] = graph.ceil
    // CHECK: %[[C:.*]] = graph.cast %[[R]]
    // CHECK: graph.bind_sizes %[[C]] names ["[[W:.*]]"]
    // CHECK: graph.iota shape <["2 * [[W]]"]> axis 0 of f64
    // CHECK: %[[Z:.*]] = graph.reduce %{{.*}} kind "sum"
    // CHECK: graph.divide %{{.*}}, %[[Z]]
    // CHECK: graph.gather %x, %{{.*}} axis 1
    %0 = "onnx.Resize"(%x, %s) <{operandSegmentSizes = array<i32: 1, 0, 0, 1>, axes = array<i64: 1>, mode = "linear", antialias = 1 : i64}> : (tensor<2x8xf32>, tensor<1xi64>) -> !onnx.any
    func.return %0 : !onnx.any
  }
  // One scale for both axes: the least of two quotients.
  // CHECK-LABEL: func.func @policy
  func.func @policy(%x: tensor<?x?xf32, #graph.dims<["H", "W"]>>, %s: tensor<2xi64>) -> !onnx.any {
    // CHECK: graph.extents <["H", "W"]>
    // CHECK: %[[Q:.*]] = graph.divide
    // CHECK: %[[M:.*]] = graph.reduce %[[Q]] kind "min" axes [0]
    // CHECK: graph.multiply %{{.*}}, %[[M]]
    // CHECK: graph.floor
    // CHECK: graph.bind_sizes
    // CHECK-COUNT-2: graph.gather
    %0 = "onnx.Resize"(%x, %s) <{operandSegmentSizes = array<i32: 1, 0, 0, 1>, axes = array<i64: 0, 1>, keep_aspect_ratio_policy = "not_larger"}> : (tensor<?x?xf32, #graph.dims<["H", "W"]>>, tensor<2xi64>) -> !onnx.any
    func.return %0 : !onnx.any
  }
  // CHECK-LABEL: func.func @region
  func.func @region(%x: tensor<2x8xf32>, %roi: tensor<4xf32>, %s: tensor<2xf32>) -> !onnx.any {
    // CHECK: graph.slice %roi
    // CHECK: %[[A:.*]] = graph.less
    // CHECK: graph.or %[[A]]
    // CHECK: graph.where
    %0 = "onnx.Resize"(%x, %roi, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, coordinate_transformation_mode = "tf_crop_and_resize"}> : (tensor<2x8xf32>, tensor<4xf32>, tensor<2xf32>) -> !onnx.any
    func.return %0 : !onnx.any
  }
}
