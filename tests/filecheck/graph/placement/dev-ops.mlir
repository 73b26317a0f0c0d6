// RUN: stepwell-opt %s | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt - | filecheck %s

// CHECK: dev.device @gpu0 #target.spec<"cuda", {arch = "sm_90"}>
dev.device @gpu0 #target.spec<"cuda", {arch = "sm_90"}>

func.func @main(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  // CHECK: dev.copy %x from @host to @gpu0 {note = "kept"} : tensor<5x7xf32>
  %1 = dev.copy %x from @host to @gpu0 {note = "kept"} : tensor<5x7xf32>
  func.return %1 : tensor<5x7xf32>
}

// An array of a device is an object for the host, which passes it from part to part.
// CHECK-LABEL: @parts
func.func @parts(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %a = graph.host_call "device" "gpu0_0" payload ""(%x) : (tensor<4xf32>) -> !dev.array<tensor<4xf32>>
  %a = graph.host_call "device" "gpu0_0" payload "" (%x) : (tensor<4xf32>) -> !dev.array<tensor<4xf32>>
  // CHECK: graph.host_call "device" "gpu0_1" payload ""(%a) : (!dev.array<tensor<4xf32>>) -> tensor<4xf32>
  %y = graph.host_call "device" "gpu0_1" payload "" (%a) : (!dev.array<tensor<4xf32>>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
