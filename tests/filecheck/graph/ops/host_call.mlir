// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s
// CHECK-LABEL: @known_size
func.func @known_size(%x: tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?xf32, #graph.dims<["N"]>> {
  // CHECK: graph.host_call "numpy" "neg" payload "{}"(%x) : (tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?xf32, #graph.dims<["N"]>>
  %y = graph.host_call "numpy" "neg" payload "{}" (%x)
    : (tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?xf32, #graph.dims<["N"]>>
  func.return %y : tensor<?xf32, #graph.dims<["N"]>>
}
// CHECK-LABEL: @defines_a_size
func.func @defines_a_size(%x: tensor<8xf32>) -> tensor<?xf32, #graph.dims<["data_0"]>> {
  // CHECK: graph.host_call "acme" "part" effect payload dense<[1, 2]> : tensor<2xui8>(%x) defines ["data_0"]
  %y, %n = graph.host_call "acme" "part" effect payload dense<[1, 2]> : tensor<2xui8> (%x) defines ["data_0"]
    : (tensor<8xf32>) -> (tensor<?xf32, #graph.dims<["data_0"]>>, index)
  func.return %y : tensor<?xf32, #graph.dims<["data_0"]>>
}
