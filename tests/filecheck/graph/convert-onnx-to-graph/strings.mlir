// RUN: stepwell-opt %s -p convert-onnx-to-graph | filecheck %s

builtin.module attributes {onnx.opsets = {"" = 17 : i64}} {
  // Where strings come from is computed; the host picks them.
  // CHECK-LABEL: func.func @moved
  func.func @moved(%x: tensor<2x3x!onnx.string>, %i: tensor<i64>) {
    // CHECK: %[[ALL:.*]] = graph.reshape {{.*}} -> tensor<2x3xi64>
    // CHECK: %[[PLACES:.*]] = graph.gather %[[ALL]], %i axis 1
    // CHECK: %[[COLUMN:.*]] = graph.host_call {{.*}} "host.take"{{.*}}(%x, %[[PLACES]])
    %0 = "onnx.Gather"(%x, %i) <{axis = 1 : i64}> : (tensor<2x3x!onnx.string>, tensor<i64>) -> !onnx.any
    // CHECK: graph.host_call {{.*}} "graph.concat"
    %1 = "onnx.Concat"(%0, %0) <{axis = 0 : i64}> : (!onnx.any, !onnx.any) -> !onnx.any
    func.return
  }
}
