// RUN: stepwell-opt %s -p convert-torch-to-graph | filecheck %s

module attributes {torch.unsupported = "torch"} {
  // An operator without a conversion, with an open size as an operand.
  // CHECK-LABEL: @no_conversion
  // CHECK: graph.host_call "torch" "aten.erfinv.default" payload {{.*}}(%x)
  // CHECK: %[[N:.*]] = graph.squeeze
  // CHECK: graph.host_call "torch" "mylib.tile.default" payload {{.*}}(%y, %[[N]])
  // CHECK-NOT: "torch.aten
  func.func @no_conversion(%x: tensor<?xf32, #graph.dims<["N"]>>) -> (tensor<?xf32, #graph.dims<["N"]>>, tensor<?x2xf32, #graph.dims<["N", 2]>>) {
    %y = "torch.aten.erfinv.default"(%x) : (tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?xf32, #graph.dims<["N"]>>
    %z = "torch.operator"(%y) <{target = "mylib.tile.default", call = "{\"target\": \"mylib.tile.default\", \"arguments\": {\"n\": {\"size\": \"N*2\"}, \"x\": {\"tensor\": 0}}}"}>
      : (tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?x2xf32, #graph.dims<["N", 2]>>
    func.return %y, %z : tensor<?xf32, #graph.dims<["N"]>>, tensor<?x2xf32, #graph.dims<["N", 2]>>
  }
  // Random numbers are an effect; a size that only the data determine is a result.
  // CHECK-LABEL: @effects
  // CHECK: graph.host_call "torch" "aten.bernoulli.default" effect
  // CHECK: graph.host_call "torch" "aten.repeat_interleave.Tensor" {{.*}} defines ["u0"]
  func.func @effects(%x: tensor<4xf32>, %n: tensor<4xi64>) -> tensor<?xi64, #graph.dims<["u0"]>> {
    %r = "torch.aten.bernoulli.default"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %i = "torch.aten.repeat_interleave.Tensor"(%n) : (tensor<4xi64>) -> tensor<?xi64, #graph.dims<["u0"]>>
    func.return %i : tensor<?xi64, #graph.dims<["u0"]>>
  }
}
