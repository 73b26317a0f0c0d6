// RUN: stepwell-opt %s -p 'plan-memory' | filecheck %s
// RUN: stepwell-opt %s -p 'plan-memory,convert-loops-to-llvm' | filecheck %s --check-prefix LLVM
// A host call is given addresses and dimensions, and tells what it made; objects are places in a table.
// CHECK-LABEL: func.func @main(
// CHECK: sched.host_call 0(%{{.*}}, %{{.*}}, %{{.*}}) reads [] : (memref<4xf32>, index, index) -> ()
// CHECK: %[[AT:.*]], %[[N:.*]] = sched.host_call 1(%{{.*}}, %{{.*}}, %{{.*}}) reads [1, 2] : (index, index, index) -> (memref<?xi8>, index)
// CHECK: memref.view %[[AT]]
// LLVM-LABEL: llvm.func @main(
// LLVM: %[[STATUS:.*]] = llvm.call %{{.*}}(%ctx, %{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, i64, !llvm.ptr, i64) -> i32
// LLVM: llvm.cond_br
func.func @main(%x: tensor<4xf32>) -> (tensor<?xf32> {graph.dims = #graph.dims<["data_0"]>}) {
  %s = graph.host_call "numpy" "host.sequence_construct" payload "{}" (%x) {
    graph.signature = (tensor<4xf32>) -> !onnx.seq<tensor<4xf32>>
  } : (tensor<4xf32>) -> !onnx.seq<tensor<4xf32>>
  %y, %n = graph.host_call "numpy" "host.concat" payload "{}" (%s) defines ["data_0"] {
    graph.signature = (!onnx.seq<tensor<4xf32>>) -> (tensor<?xf32, #graph.dims<["data_0"]>>, index)
  } : (!onnx.seq<tensor<4xf32>>) -> (tensor<?xf32>, index)
  func.return %y : tensor<?xf32>
}
