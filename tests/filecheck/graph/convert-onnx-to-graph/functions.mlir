// RUN: stepwell-opt %s -p convert-onnx-to-graph | filecheck %s

// A dimension of the operand keeps its name.
// CHECK-LABEL: @top3
// CHECK: graph.host_call "ffi" "my.top3" effect payload {{.*}}my.top3{{.*}}(%x) :
// CHECK-SAME: -> tensor<?x3xf32, #graph.dims<["N", 3]>>
func.func @top3(%x: tensor<?x8xf32, #graph.dims<["N", 8]>>) -> !onnx.any {
  %y = "onnx.Call"(%x) <{domain = "ai.stepwell.ffi", op_type = "my.top3", arguments = {result = ["f32[N, 3]"]}}>
    : (tensor<?x8xf32, #graph.dims<["N", 8]>>) -> !onnx.any
  func.return %y : !onnx.any
}

// Another name is a size that the function decides, the same one in both results.
// CHECK-LABEL: @found
// CHECK: graph.host_call "ffi" "my.found" effect payload {{.*}}(%x) defines ["[[K:data_[0-9]+]]"]
// CHECK-SAME: (tensor<?xf32, #graph.dims<["[[K]]"]>>, tensor<2x?xi64, #graph.dims<[2, "[[K]]"]>>, tensor<i1>, index)
func.func @found(%x: tensor<?xf32, #graph.dims<["N"]>>) -> (!onnx.any, !onnx.any, !onnx.any) {
  %y, %i, %b = "onnx.Call"(%x) <{
    domain = "ai.stepwell.ffi", op_type = "my.found", arguments = {result = ["f32[K]", "i64[2,K]", "bool[]"]}
  }> : (tensor<?xf32, #graph.dims<["N"]>>) -> (!onnx.any, !onnx.any, !onnx.any)
  func.return %y, %i, %b : !onnx.any, !onnx.any, !onnx.any
}
