// RUN: stepwell-opt %s | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt - | filecheck %s

// CHECK: dev.device @gpu0 #target.spec<"cuda", {arch = "sm_90"}>
dev.device @gpu0 #target.spec<"cuda", {arch = "sm_90"}>

func.func @main(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  // CHECK: dev.copy %x from @host to @gpu0 {note = "kept"} : tensor<5x7xf32>
  %1 = dev.copy %x from @host to @gpu0 {note = "kept"} : tensor<5x7xf32>
  func.return %1 : tensor<5x7xf32>
}
