// RUN: not stepwell-opt %s -p 'annotate-devices{device=gpu1}' 2>&1 | filecheck %s --check-prefix=DEVICE
// RUN: not stepwell-opt %s -p 'annotate-devices{device=gpu0 table=nothing}' 2>&1 | filecheck %s --check-prefix=TABLE
// RUN: not stepwell-opt %s -p 'annotate-target{by=luck}' 2>&1 | filecheck %s --check-prefix=BY

// DEVICE: error[bad-device]: the module has no device @gpu1
// TABLE: error[
// TABLE-SAME: nothing
// BY: error[bad-option]: by of annotate-target is device, found 'luck'
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
