// RUN: stepwell-opt %s -p 'annotate-target{backends=onnxruntime,reference}' | filecheck %s
// RUN: stepwell-opt %s -p 'annotate-target{backends=onnxruntime},annotate-target{backends=reference}' | filecheck %s
// RUN: stepwell-opt %s -p 'annotate-target{backends=onnxruntime,reference}' --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// The first backend of the list that takes an op has it: ONNX's operators lack a bitcast, numpy has one.
// CHECK-LABEL: @order
func.func @order(%x: tensor<4xf32>) -> tensor<4xi32> {
  // CHECK: graph.relu %x {graph.target = "onnxruntime"}
  %a = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK: graph.bitcast %a to i32 {graph.target = "reference"}
  %b = graph.bitcast %a to i32 : tensor<4xf32> -> tensor<4xi32>
  func.return %b : tensor<4xi32>
}

// A view follows what it is computed from, else what reads it; alone it stays.
// CHECK-LABEL: @views
func.func @views(%x: tensor<2x2xf32>, %u: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>) {
  // CHECK: graph.relu %x {graph.target = "onnxruntime"}
  %a = graph.relu %x : tensor<2x2xf32> -> tensor<2x2xf32>
  // CHECK: %b = graph.reshape %a shape <[4]> {graph.target = "onnxruntime"}
  %b = graph.reshape %a shape <[4]> : tensor<2x2xf32> -> tensor<4xf32>
  // CHECK: %c = graph.reshape %x shape <[4]> {graph.target = "onnxruntime"}
  %c = graph.reshape %x shape <[4]> : tensor<2x2xf32> -> tensor<4xf32>
  // CHECK: graph.neg %c {graph.target = "onnxruntime"}
  %d = graph.neg %c : tensor<4xf32> -> tensor<4xf32>
  // CHECK: %e = graph.reshape %u shape <[2, 2]> :
  %e = graph.reshape %u shape <[2, 2]> : tensor<4xf32> -> tensor<2x2xf32>
  func.return %b, %d, %e : tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>
}

// A tuple goes with its fields, when all of them come from the backend.
// CHECK-LABEL: @tuples
func.func @tuples(%x: tensor<4xf32>, %y: tensor<3xf32>) -> (tensor<4xf32>, tensor<3xf32>) {
  %a = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  %b = graph.relu %y : tensor<3xf32> -> tensor<3xf32>
  // CHECK: graph.tuple %a, %b {graph.target = "onnxruntime"} :
  %t = graph.tuple %a, %b : tensor<4xf32>, tensor<3xf32>
  // CHECK: graph.get %t[0] {graph.target = "onnxruntime"}
  %c = graph.get %t [0] : tuple<tensor<4xf32>, tensor<3xf32>> -> tensor<4xf32>
  // CHECK: graph.tuple %a, %y :
  %s = graph.tuple %a, %y : tensor<4xf32>, tensor<3xf32>
  // CHECK: graph.get %s[1] :
  %d = graph.get %s [1] : tuple<tensor<4xf32>, tensor<3xf32>> -> tensor<3xf32>
  func.return %c, %d : tensor<4xf32>, tensor<3xf32>
}

// What the IR says already stays; integer quotients would end ONNX Runtime's process.
// CHECK-LABEL: @kept
func.func @kept(%x: tensor<4xi64>, %y: tensor<4xf32>) -> (tensor<4xi64>, tensor<4xf32>) {
  // CHECK: graph.divide %x, %x {graph.target = "reference"}
  %a = graph.divide %x, %x : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  // CHECK: graph.relu %y {graph.target = "mine"}
  %b = graph.relu %y {graph.target = "mine"} : tensor<4xf32> -> tensor<4xf32>
  func.return %a, %b : tensor<4xi64>, tensor<4xf32>
}

// Nobody knows the size of the result beforehand.
// CHECK-LABEL: @data_dependent
func.func @data_dependent(%a: tensor<f32>, %b: tensor<f32>) -> tensor<?xf32> {
  // REMARK: remark: not taken by a backend: the size of a value of graph.range depends on data
  // CHECK: graph.range %a, %b, %b :
  %r = graph.range %a, %b, %b : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<?xf32>
  func.return %r : tensor<?xf32>
}
